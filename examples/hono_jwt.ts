/**
 * A middleware of Hono identifies the users, here `jwt()`, beside API keys of this package.
 *
 *     JWT_SECRET=… deno run -A examples/hono_jwt.ts
 *
 *     deno run -A examples/hono_jwt.ts token ada > token
 *     curl http://127.0.0.1:8000/api/notes -H "authorization: Bearer $(cat token)" \
 *       --json '{"title":"Buy tea"}'
 *     # {"id":1,"ownerId":"ada","title":"Buy tea"}
 *     curl http://127.0.0.1:8000/api/notes -H 'authorization: Bearer x.y.z'
 *     # {…"status":401,…}
 *     curl http://127.0.0.1:8000/api/notes -H 'x-api-key: key_000000000000_wrong'
 *     # {…"status":401,…}
 */
import { every } from "@hono/hono/combine";
import { createMiddleware } from "@hono/hono/factory";
import { jwt, type JwtVariables, sign } from "@hono/hono/jwt";
import {
  type AppEnv,
  eq,
  integer,
  openDatabase,
  resource,
  serve,
  table,
  text,
  type User,
} from "@svc/resource-api";
import { apiKeyAuth } from "@svc/resource-api/auth";

type Env = { Variables: JwtVariables<{ sub: string }> & AppEnv["Variables"] };

const secret = Deno.env.get("JWT_SECRET") ?? "";
const [command, subject] = Deno.args;
if (command === "token") console.log(await tokenOf(subject ?? "ada"));
else await runService();

/** What an identity provider does. */
async function tokenOf(sub: string): Promise<string> {
  return await sign({ sub, exp: Math.floor(Date.now() / 1_000) + 3_600 }, secret, "HS256");
}

async function runService(): Promise<void> {
  const notes = table("notes", {
    id: integer().primaryKey(),
    ownerId: text().notNull().as("owner_id"),
    title: text().notNull(),
  });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const own = (user: User) => eq(notes.ownerId, user.id);

  const setUser = createMiddleware<Env>(async (c, next) => {
    c.set("user", { id: c.get("jwtPayload").sub });
    await next();
  });
  const byToken = every(jwt({ secret, alg: "HS256" }), setUser);

  await serve({
    db,
    kv: ":memory:", // the keys of `cli.ts keys create` are in a file
    auth: {
      use: [apiKeyAuth()], // first: a request with a key is done here
      middleware: (c, next) => c.get("user") ? next() : byToken(c, next),
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { read: own, create: own },
        generatedFields: [notes.ownerId],
      }),
    ],
  });
}
