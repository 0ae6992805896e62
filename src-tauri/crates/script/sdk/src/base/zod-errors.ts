// What a restored error of zod does: zod 4 makes these functions for each error, and zod 3 has them in a class that the
// flow may not have named yet.

interface Issue {
  code?: string;
  message: string;
  path: (string | number)[];
  /** Of a union: the errors of its options, in zod 3 and in zod 4. */
  unionErrors?: { issues: Issue[] }[];
  errors?: Issue[][];
  returnTypeError?: { issues: Issue[] };
  argumentsError?: { issues: Issue[] };
  /** Of a key or an element, in zod 4. */
  issues?: Issue[];
}

type ZodError = Error & { issues: Issue[] };
type Said = (issue: Issue) => unknown;
type Tree = { _errors: unknown[]; [key: string]: Tree | unknown[] };

const words: Said = (issue) => issue.message;

/** The lists of issues that an issue stands for; none if it stands for itself. */
function inside(issue: Issue): Issue[][] | undefined {
  switch (issue.code) {
    case 'invalid_union':
      return issue.unionErrors?.map(({ issues }) => issues) ?? (issue.errors?.length ? issue.errors : undefined);
    case 'invalid_return_type':
      return issue.returnTypeError && [issue.returnTypeError.issues];
    case 'invalid_arguments':
      return issue.argumentsError && [issue.argumentsError.issues];
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues && [issue.issues];
    default:
      return undefined;
  }
}

function format(issues: readonly Issue[], say: Said = words, tree: Tree = { _errors: [] }): Tree {
  for (const issue of issues) {
    const lists = inside(issue);
    if (lists) lists.forEach((list) => format(list, say, tree));
    else {
      const at = issue.path.reduce<Tree>((above, key) => (above[key] ??= { _errors: [] }) as Tree, tree);
      at._errors.push(say(issue));
    }
  }
  return tree;
}

function flatten(issues: readonly Issue[], say: Said = words): object {
  const fieldErrors: Record<string, unknown[]> = {};
  const formErrors: unknown[] = [];
  for (const issue of issues) {
    const [first] = issue.path;
    if (first === undefined) formErrors.push(say(issue));
    else (fieldErrors[first] ??= []).push(say(issue));
  }
  return { formErrors, fieldErrors };
}

/**
 * Gives an error that zod made, and that comes from the log, the functions of zod. Returns whether zod 4 made it, which
 * tells its errors by a property of theirs, and not by their class.
 */
export function completeZodError(error: Error): boolean {
  const { issues, name } = error as ZodError;
  if ((name !== 'ZodError' && name !== '$ZodError') || !Array.isArray(issues)) return false;
  const made = error as ZodError;
  const functions: Record<string, unknown> = {
    toString: () => made.message,
    format: (say?: Said) => format(made.issues, say),
    flatten: (say?: Said) => flatten(made.issues, say),
  };
  const isFour = Object.hasOwn(error, '_zod');
  const add = (more: Issue[]) => {
    // Each version changes its own list, or makes another one.
    if (isFour) made.issues.push(...more);
    else made.issues = [...made.issues, ...more];
  };
  for (const [name, value] of Object.entries(functions)) {
    if (!Object.hasOwn(error, name)) Object.defineProperty(error, name, { value, writable: true, configurable: true });
  }
  const adding = { addIssue: (issue: Issue) => add([issue]), addIssues: (more: Issue[] = []) => add(more) };
  for (const [name, value] of Object.entries(adding)) {
    Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: !isFour });
  }
  return isFour;
}
