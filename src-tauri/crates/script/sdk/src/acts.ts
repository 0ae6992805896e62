// `acts`: the names a file with Calls and `_scopes` imports.

export { Activity, Agent, Delegate, Tool } from './define/calls';
