/** The console, for operators. */
import { start } from '../ui/start.js';
import './console.css';
import { Console } from './console.js';

start({
  path: '/admin/v1/session',
  member: 'token',
  title: 'Console',
  label: 'Admin token',
  about: 'The token is checked',
  unknown: 'This token is not known. Copy it again, or ask whoever gave it to you.',
  children: <Console />,
});
