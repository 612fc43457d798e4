/**
 * An issue board: live in every window, and of use without a network. board.html beside it is the
 * page, without a build step: it imports the client that every service serves.
 *
 *     deno run -A examples/board.ts
 *
 * Open http://127.0.0.1:8000/ in two windows, and drag a card in one. Stop the service, change some
 * cards, and start it again: what waited arrives. Where two people gave a card another title, the
 * later one chooses.
 *
 *     curl http://127.0.0.1:8000/api/cards --json '{"title":"Buy tea","status":"todo","rank":"t"}'
 *     # {"id":"…","title":"Buy tea","status":"todo","rank":"t","version":1}
 *     curl -I http://127.0.0.1:8000/
 *     # HTTP/1.1 200 OK…content-security-policy: default-src 'none'…
 */
import { all, integer, openDatabase, resource, serve, table, text, uuid } from "@svc/resource-api";

const cards = table("cards", {
  id: uuid().primaryKey(),
  title: text({ maxLength: 200 }).notNull(),
  status: text({ enum: ["todo", "doing", "done"] }).notNull(),
  rank: text().notNull(), // between those of its neighbours
  version: integer().notNull().default(1),
});
const db = await openDatabase("sqlite:board.db");
await db.createTables([cards]);
await welcome();

const page = await Deno.readTextFile(new URL("board.html", import.meta.url));
// The page has one style and one script, which the policy names by their hashes.
const [style, script] = await Promise.all(["style", "script"].map(hashOf));
const policy = [
  "default-src 'none'",
  `style-src ${style}`,
  `script-src 'self' ${script}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

await serve({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (c, next) => {
      c.set("user", { id: "guest" });
      await next();
    },
  },
  idempotency: { storage: "db" }, // what was sent twice is done once, after a restart too
  middleware: [
    async (c, next) => {
      if (c.req.path !== "/") return await next();
      return c.html(page, 200, { "content-security-policy": policy });
    },
  ],
  resources: [
    resource(cards, {
      id: cards.id,
      auth: { read: all, subscribe: all, create: all, update: all, delete: all },
      etag: { versionField: cards.version },
      generatedFields: [cards.id],
    }),
  ],
});

async function hashOf(tag: string): Promise<string> {
  const content = page.split(new RegExp(`</?${tag}\\b[^>]*>`))[1];
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(content));
  return `'sha256-${new Uint8Array(hash).toBase64()}'`;
}

/** The cards of a new board. */
async function welcome(): Promise<void> {
  const { rows } = await db.sql`SELECT ${cards.id} FROM ${cards} LIMIT 1`;
  if (rows.length > 0) return;
  for (
    const [rank, status, title] of [
      ["f", "todo", "Drag me to Doing"],
      ["n", "todo", "Press my title to change it"],
      ["v", "todo", "Open this page in a second window"],
      ["n", "doing", "Stop the service, change some cards, and start it again"],
      ["n", "done", "Start the board"],
    ] as const
  ) {
    await db.sql`
      INSERT INTO ${cards} (${cards.id}, ${cards.title}, ${cards.status}, ${cards.rank}, ${cards.version})
      VALUES (${crypto.randomUUID()}, ${title}, ${status}, ${rank}, 1)`;
  }
}
