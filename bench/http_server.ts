/**
 * One server of a benchmark in a separate process: `http_server.ts
 * ours|scoped|guarded|observed|dashboard|logged|open|identified|hand PATH [PORT]`. `PATH` is a
 * SQLite file, or the URL of a Postgres database for `ours`, `scoped` and `hand`.
 */
import { createApp, type ServiceConfig } from "../mod.ts";
import { jwtAuth, passwordAuth } from "../exports/auth.ts";
import { handWritten } from "./hand_written.ts";
import { handWrittenPostgres } from "./hand_written_postgres.ts";
import { notesService, scopedNotesService } from "./notes_service.ts";

const [side = "", path, port = "0"] = Deno.args;
if (path === undefined) throw new Error("Usage: http_server.ts ours|guarded|hand PATH [PORT]");
const { fetch } = side === "hand"
  ? path.startsWith("postgres:") ? handWrittenPostgres(path) : handWritten(path)
  : await createApp(
    side === "scoped"
      ? await scopedNotesService(path)
      : { ...await notesService(path), ...optionsOf(side, path) },
  );
Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
  // `info` is passed on as `serve` and `Deno.serve(app.fetch)` do: responses depend on it.
}, (request, info) => fetch(request, info));

function optionsOf(side: string, path: string): Partial<ServiceConfig> {
  // The budget never runs out, but is small enough to be counted at every request.
  const budget = { capacity: 1_000_000, refillPerMinute: 60_000_000 };
  switch (side) {
    case "guarded":
      return {
        kv: `${path}.kv`,
        abuseProtection: { budget: { classes: { anonymous: budget, authenticated: budget } } },
      };
    case "observed":
      return { observability: true };
    case "dashboard":
      return { observability: true, adminUI: { requestLog: false } };
    case "logged":
      return { observability: true, adminUI: { requestLog: { file: `${path}-requests.sqlite` } } };
    case "open":
      return { auth: {} };
    case "identified":
      return {
        auth: {
          use: [
            jwtAuth({ secret: "a secret for the tokens of the benchmark" }),
            passwordAuth({ signup: { verify: false }, passwordReset: false }),
          ],
        },
      };
    default:
      return {};
  }
}
