import type { RequestTypes } from '../../api/operations/operation.js';
import type { Calls } from '../../api/operations/table.js';
import type { FieldSpec } from '../ui/form-values.js';

type MemberOf<Body> = { [Name in keyof Body & string]-?: Name | `${Name}.${string}` }[keyof Body & string];

/** Fields of a form, type-checked against the body of a call. */
export type FieldsOf<Call extends keyof Calls> = readonly (FieldSpec & {
  readonly name: MemberOf<RequestTypes<Calls[Call]>['Body']>;
})[];
