/**
 * A live page: every window shows all notes as they change, with no reload and no build step.
 *
 *     deno serve -A examples/live_page.ts
 *
 * Open http://127.0.0.1:8000/ in two windows and write in one, or write from here. When the service
 * starts again, the page continues where it was.
 *
 *     curl http://127.0.0.1:8000/api/notes --json '{"title":"Buy tea"}'
 *     # {"id":1,"title":"Buy tea"}
 *     curl -I http://127.0.0.1:8000/
 *     # HTTP/1.1 200 OK…content-security-policy: default-src 'self'…
 */
import { getCookie, setCookie } from "@hono/hono/cookie";
import {
  createApp,
  eq,
  integer,
  openDatabase,
  resource,
  table,
  text,
  type User,
} from "@svc/resource-api";

const notes = table("notes", {
  id: integer().primaryKey(),
  visitor: text().notNull(),
  title: text({ maxLength: 200 }).notNull(),
});
const db = await openDatabase("sqlite:live_page.db");
await db.createTables([notes]);

const own = (user: User) => eq(notes.visitor, user.id);

const app = await createApp({
  db,
  auth: {
    // Every browser is a user, by a cookie that no script can read.
    middleware: async (c, next) => {
      const id = getCookie(c, "visitor") ?? crypto.randomUUID();
      setCookie(c, "visitor", id, { httpOnly: true, sameSite: "Strict", maxAge: 86_400 });
      c.set("user", { id });
      await next();
    },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { public: true, create: own, delete: own },
      fields: { readable: [notes.id, notes.title] }, // the cookie is a secret of its visitor
      generatedFields: [notes.visitor],
    }),
  ],
});

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Notes</title>
<script type="module" src="/page.js"></script>
<h1>Notes</h1>
<form><input name="title" aria-label="Note" maxlength="200" required> <button>Add</button></form>
<ul></ul>`;

const script = `
const list = document.querySelector("ul");
const form = document.querySelector("form");
const shown = new Map();

function show({ id, title }) {
  if (!shown.has(id)) shown.set(id, list.appendChild(document.createElement("li")));
  shown.get(id).textContent = title;
}

// It reconnects by itself, and sends the last event that it has: nothing is lost or sent twice.
const stream = new EventSource("/api/notes/subscribe");
const on = (type, work) => stream.addEventListener(type, (event) => work(JSON.parse(event.data)));
on("existing", ({ items }) => items.forEach(show));
on("added", ({ item }) => show(item));
on("changed", ({ item }) => show(item));
on("removed", ({ id }) => {
  shown.get(id)?.remove();
  shown.delete(id);
});
on("invalidate", () => {
  list.replaceChildren();
  shown.clear();
});
// It gives up when it is refused, by a proxy without a service for example.
stream.onerror = () => {
  if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5_000);
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify(Object.fromEntries(new FormData(form)));
  const headers = { "content-type": "application/json" };
  const { ok } = await fetch("/api/notes", { method: "POST", headers, body });
  if (ok) form.reset();
});
`;

app.hono.get("/", (c) => {
  c.header("content-security-policy", "default-src 'self'");
  return c.html(page);
});
app.hono.get("/page.js", (c) => c.body(script, 200, { "content-type": "text/javascript" }));

export default { fetch: app.fetch };
