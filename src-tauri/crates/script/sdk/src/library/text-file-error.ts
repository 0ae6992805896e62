// What is wrong with a Markdown file that a prompt or a resource is made of, with the file's path before it.

export class TextFileError extends Error {
  readonly sourcePath?: string;

  constructor(message: string, { cause, sourcePath }: { cause?: unknown; sourcePath?: string } = {}) {
    super(
      sourcePath === undefined ? message : `${sourcePath}: ${message}`,
      cause === undefined ? undefined : { cause },
    );
    this.sourcePath = sourcePath;
  }
}
