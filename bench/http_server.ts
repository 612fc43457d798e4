/**
 * One side of a benchmark in a process of its own:
 * `http_server.ts ours|guarded|open|identified|hand PATH [PORT]`.
 */
import { all, createApp, openDatabase, resource } from "../mod.ts";
import {
  type Authenticator,
  type AuthenticatorDefinition,
  jwtAuth,
  passwordAuth,
} from "../exports/auth.ts";
import { handWritten } from "./hand_written.ts";
import { notes } from "./notes_table.ts";

const [side, path, port = "0"] = Deno.args;
if (path === undefined) throw new Error("Usage: http_server.ts ours|guarded|hand PATH [PORT]");
const { fetch } = side === "hand" ? handWritten(path) : await ours(path, side);
Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => fetch(request));

const bench = { user: { id: "bench" } };

function authenticatorsOf(
  side: string | undefined,
): readonly (Authenticator | AuthenticatorDefinition)[] {
  if (side === "open") return [];
  if (side !== "identified") return [{ name: "bench", identify: () => bench }];
  return [
    jwtAuth({ secret: "a secret for the tokens of the benchmark" }),
    passwordAuth({ signup: { verify: false }, passwordReset: false }),
  ];
}

async function ours(
  path: string,
  side: string | undefined,
): Promise<{ fetch(request: Request): Promise<Response> }> {
  // So much that it never runs out, and little enough to be counted at every request.
  const budget = { capacity: 1_000_000, refillPerMinute: 60_000_000 };
  return await createApp({
    ...(side === "guarded"
      ? {
        kv: `${path}.kv`,
        abuseProtection: { budget: { classes: { anonymous: budget, authenticated: budget } } },
      }
      : {}),
    db: await openDatabase(`sqlite:${path}`),
    secret: "a secret for the benchmark",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: () => all(), update: () => all() },
        etag: { versionField: notes.version },
      }),
    ],
    auth: { use: authenticatorsOf(side) },
  });
}
