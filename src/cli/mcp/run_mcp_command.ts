import process from "node:process";
import { serveMcpOverStdio } from "../../mcp/mcp_responder.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { decideCliRights } from "../cli_service.ts";
import { makeServiceToken } from "../workers/worker_share.ts";
import { serveDatabase } from "../database/serve_database.ts";
import { openReopening, withSharedSecrets } from "../reopen/reopening_service.ts";
import { type OpenService, openService } from "../run_service.ts";
import type { McpCommand } from "../command_arguments.ts";

export async function runMcpCommand(
  { database, write, schemas, additions, functions }: McpCommand,
): Promise<number> {
  // The standard output belongs to MCP, so observations go to the standard error.
  const runtime = systemRuntime(consoleObserver());
  const token = makeServiceToken(runtime.random);
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: write }, token);
  const shared = { secret: makeServiceToken(runtime.random), endsWith: null };
  async function open(runtime: Runtime): Promise<OpenService> {
    const service = await serveDatabase(database, {
      rights,
      runtime,
      kv: undefined,
      accountsIn: undefined,
      isSearched: false,
      // Writes are recorded, so that live streams of other processes show them.
      recording: { triggers: false, schema: null },
      ...{ schemas, additions, functions },
    });
    return await openService({
      ...service,
      config: withSharedSecrets(service.config, shared, runtime),
    });
  }
  const { app, current } = await openReopening({
    open,
    watches: false,
    takesSignals: false,
    runtime,
  });
  try {
    const headers: HeadersInit = rights.token === null
      ? {}
      : { authorization: `Bearer ${rights.token}` };
    const connection = serveMcpOverStdio({
      options: { write, hosts: [] },
      get schema() {
        return app.schema();
      },
      version: "1.0.0",
      mountedAt: "",
      maxRequestBytes: 1024 * 1024,
      observe: runtime.observe,
    }, {
      request: new Request("http://localhost/", { headers }),
      user: rights.token === null ? null : "operator",
      ...(current === undefined ? {} : { current }),
      fetch: (request) => app.fetch(request),
    });
    await new Promise((resolve) => process.stdin.once("end", resolve).once("close", resolve));
    await connection.close();
    return 0;
  } finally {
    await app.close();
  }
}
