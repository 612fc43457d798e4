import process from "node:process";
import { createApp } from "../../app/app.ts";
import { serveMcpOverStdio } from "../../mcp/create_mcp.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { decideCliRights, makeServiceToken } from "../cli_rights.ts";
import { reportFailure } from "../report_failure.ts";
import { serveDatabase } from "../database/serve_database.ts";
import type { McpCommand } from "./mcp_arguments.ts";

/**
 * Serves a database to the MCP client that has started this process, until it closes the standard
 * input; returns the exit code. The client has the rights of the operator.
 */
export async function runMcpCommand({ database, write, schemas }: McpCommand): Promise<number> {
  // Observations go to the standard error: the standard output is the client's.
  const runtime = systemRuntime(consoleObserver());
  const token = makeServiceToken(runtime.random);
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: write }, token);
  try {
    const { config } = await serveDatabase(database, {
      rights,
      runtime,
      kv: undefined,
      accountsIn: undefined,
      isSearched: false,
      // Streams of other processes show what it writes.
      recording: { triggers: false, schema: null },
      schemas,
    });
    const app = await createApp(config);
    try {
      const headers: HeadersInit = rights.token === null
        ? {}
        : { authorization: `Bearer ${rights.token}` };
      const connection = serveMcpOverStdio({
        options: { write, hosts: [] },
        schema: app.schema(),
        version: "1.0.0",
        mountedAt: "",
        maxRequestBytes: 1024 * 1024,
        observe: runtime.observe,
      }, {
        request: new Request("http://localhost/", { headers }),
        user: rights.token === null ? null : "operator",
        fetch: (request) => app.fetch(request),
      });
      await new Promise((resolve) => process.stdin.once("end", resolve).once("close", resolve));
      await connection.close();
      return 0;
    } finally {
      await app.close();
    }
  } catch (error) {
    return reportFailure(error, 2);
  }
}
