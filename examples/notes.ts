/**
 * Notes that all users may read, and only their owner may write.
 *
 *     deno run -A examples/notes.ts
 *
 *     curl http://127.0.0.1:8000/api/notes -H 'x-user: ada' --json '{"title":"Buy tea"}'
 *     # {"id":1,"ownerId":"ada","title":"Buy tea","status":"draft"}
 *     curl -g 'http://127.0.0.1:8000/api/notes?filter=title=icontains=TEA&select=id,title'
 *     # {"items":[{"id":1,"title":"Buy tea"}],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/notes/1 -H 'x-user: eve' -X PATCH --json '{"title":"Mine"}'
 *     # {…"status":403,…}
 */
import {
  eq,
  integer,
  openDatabase,
  resource,
  serve,
  table,
  text,
  type User,
} from "@svc/resource-api";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text({ maxLength: 200 }).notNull(),
  status: text({ enum: ["draft", "published"] }).notNull().default("draft"),
});

const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);

const own = (user: User) => eq(notes.ownerId, user.id);

await serve({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
    },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { public: { read: true }, create: own, update: own, delete: own },
      generatedFields: [notes.ownerId], // the user who creates the note, by the scope `own`
    }),
  ],
});
