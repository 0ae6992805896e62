// The names of the clients as people know them, and what a client sends to the endpoint.
export const CLIENTS: Record<string, string> = {
  claudeCode: 'Claude Code',
  cursor: 'Cursor',
  vscode: 'VS Code',
  codex: 'Codex',
  zed: 'Zed',
};

export const headerOf = (token: string): string => `Authorization: Bearer ${token}`;
