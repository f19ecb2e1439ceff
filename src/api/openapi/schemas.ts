/** Short forms of schemas. */
import Type, { type TProperties, type TSchema } from 'typebox';

export const text = (description: string) => Type.String({ description });
export const date = Type.String({ format: 'date' });
export const time = Type.String({ format: 'date-time' });
export const instant = (description: string) => Type.String({ format: 'date-time', description });
export const integer = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });

export const nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** An object whose title is its name among the components of the document. */
export const titled = <P extends TProperties>(title: string, properties: P) =>
  Type.Object(properties, { title });

/** An object that may have no other members. */
export const closed = <P extends TProperties>(properties: P, title?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(title === undefined ? {} : { title }) });

/** The account of a report, as it is shown. */
export const SHOWN_ACCOUNT = Type.Union([Type.Integer(), Type.String(), Type.Null()]);

/** An account in a body. A number that JSON cannot represent exactly would be another account. */
export const accountId = (description: string) => integer(1, Number.MAX_SAFE_INTEGER, description);
