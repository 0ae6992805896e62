// Official clients of the Model Context Protocol against the program, each as its users have it.
//
//   node mcp.mjs stdio PROGRAM FOLDER REQUEST     the newest client of both generations, and an older one
//   node mcp.mjs http URL TOKEN REQUEST           the endpoint of the window
//
// Prints a line of JSON for each client, and ends with an error if one of them does not work.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from 'older-sdk/client/index.js';
import { StdioClientTransport as OldStdio } from 'older-sdk/client/stdio.js';

const [way, ...given] = process.argv.slice(2);
const own = { name: 'test', version: '1' };

/** Uses a client for what a coding agent does, and says what it saw. */
async function use(name, client, transport, request) {
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const found = await client.callTool({ name: 'find', arguments: {} });
  const refused = await client.callTool({ name: 'look', arguments: { request: 'nobody' } });
  const templates = (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate);
  const read = await client.readResource({ uri: `flowglass://request/${request}/input` });
  const version = client.getNegotiatedProtocolVersion?.() ?? null;
  await client.close();
  const saw = {
    client: name,
    version,
    tools,
    found: found.content[0].text,
    rows: found.structuredContent?.rows?.length ?? null,
    refused: refused.isError === true && refused.content[0].text,
    templates: templates.length,
    read: read.contents[0].text,
  };
  console.log(JSON.stringify(saw));
}

if (way === 'stdio') {
  const [command, folder, request] = given;
  const server = () => ({ command, args: ['mcp', '--dir', folder], stderr: 'inherit', env: { ...process.env } });
  await use('sdk', new Client(own), new StdioClientTransport(server()), request);
  await use('older sdk', new OldClient(own), new OldStdio(server()), request);
  for (const mode of ['legacy', 'auto']) {
    await use(mode, new NewClient(own, { versionNegotiation: { mode } }), new NewStdio(server()), request);
  }
} else {
  const [url, token, request] = given;
  const header = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
  await use('sdk', new Client(own), new StreamableHTTPClientTransport(new URL(url), header), request);
  const modern = new NewClient(own, { versionNegotiation: { mode: 'auto' } });
  await use('auto', modern, new NewHttp(new URL(url), header), request);
}
