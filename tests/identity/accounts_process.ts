/**
 * A service with accounts, one of several over the same files: `accounts_process.ts FOLDER [kill]`.
 * With `kill` it ends itself as soon as a password was replaced.
 */
import { createApp, eq, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { apiKeyAuth, passwordAuth } from "../../exports/auth.ts";

const [folder = "", killAt = "", cost = "cheap"] = Deno.args;
const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull(),
  title: text().notNull(),
});
const db = await openDatabase(`sqlite:${folder}/users.db`);
await db.createTables([notes]);

if (killAt === "kill") {
  const { driver } = db;
  const query = driver.query.bind(driver);
  Object.defineProperty(driver, "query", {
    value: async (statement: Parameters<typeof query>[0]) => {
      const result = await query(statement);
      if (/UPDATE[^]*password_hash/.test(statement.text)) {
        Deno.kill(Deno.pid, "SIGKILL");
        // Until it has arrived.
        await new Promise(() => {});
      }
      return result;
    },
  });
}

const app = await createApp({
  db,
  kv: `${folder}/service.kv`,
  secret: "a secret for the tests only",
  auth: {
    recheckMs: 300,
    use: [
      apiKeyAuth(),
      passwordAuth({
        signup: { verify: false },
        passwordReset: false,
        ...(cost === "cheap" ? { passwords: { scrypt: { N: 4_096, r: 8, p: 1 } } } : {}),
        sessions: { maxMs: killAt === "short" ? 1_500 : 3_600_000 },
      }),
    ],
  },
  abuseProtection: {
    budget: { classes: { anonymous: { capacity: 10_000, refillPerMinute: 0 } } },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: {
        read: (user) => eq(notes.ownerId, user.id),
        create: (user) => eq(notes.ownerId, user.id),
        subscribe: (user) => eq(notes.ownerId, user.id),
      },
      generatedFields: [notes.ownerId],
    }),
  ],
});
const server = Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`port ${port}`),
}, app.fetch);
Deno.addSignalListener("SIGTERM", async () => {
  await app.close();
  await server.shutdown();
  Deno.exit(0);
});
