/**
 * Accounts for a page: signup with a proof of work that a worker of the page solves, login, a live
 * list, and a logout that ends the stream.
 *
 *     deno serve -A examples/accounts_page.ts
 *
 * Open http://127.0.0.1:8000/. A signup prints the link that a mail would have: open it. From a
 * terminal, a signup is a challenge first:
 *
 *     curl http://127.0.0.1:8000/api/auth/signup --json \
 *       '{"email":"ada@example.com","password":"a password of many words"}'
 *     # {…"status":428,…"code":"PROOF_OF_WORK_REQUIRED"}
 *     curl http://127.0.0.1:8000/api/auth/me
 *     # {"user":null}
 *     curl -I http://127.0.0.1:8000/
 *     # HTTP/1.1 200 OK…content-security-policy: default-src 'self'…
 */
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
import { passwordAuth } from "@svc/resource-api/auth";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text({ maxLength: 200 }).notNull(),
});
const db = await openDatabase("sqlite:accounts_page.db");
await db.createTables([notes]);

const own = (user: User) => eq(notes.ownerId, user.id);

const app = await createApp({
  db,
  kv: "accounts_page.kv", // sessions: shared by all processes of a service
  auth: {
    use: [
      passwordAuth({
        signup: { pow: { difficulty: 20 } }, // a browser needs a tenth of a second
        // sendMail: ({ kind, user, link }) => …, without which links are printed
        links: "http://127.0.0.1:8000", // the pages of the service
        pages: { title: "Notes", logIn: "/" },
      }),
    ],
    recheckMs: 1_000, // so soon a logout ends the streams in every process
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { read: own, create: own, delete: own, subscribe: own },
      generatedFields: [notes.ownerId],
    }),
  ],
});

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Notes</title>
<script type="module" src="/page.js"></script>
<h1>Notes</h1>
<p role="status"></p>
<p><output></output></p>
<form id="account">
  <input name="email" type="email" aria-label="E-mail" autocomplete="username" required>
  <input name="password" type="password" aria-label="Password" autocomplete="current-password"
    minlength="15" required>
  <button value="login">Log in</button> <button value="signup">Sign up</button>
</form>
<form id="note" hidden>
  <input name="title" aria-label="Note" maxlength="200" required> <button>Add</button>
  <button type="button" id="logout">Log out</button>
</form>
<ul></ul>`;

const script = `
import { createAuth, createClient, liveList } from "/__service/client.js";
const [account, note] = [document.querySelector("#account"), document.querySelector("#note")];
const [list, output] = [document.querySelector("ul"), document.querySelector("output")];
const api = createClient({ baseUrl: "" });
const auth = createAuth(api);

let close = () => {};
auth.subscribe(({ user, status }) => {
  close();
  list.replaceChildren();
  [account.hidden, note.hidden] = [user !== null, user === null];
  const shown = { unknown: "", "signed-out": "Signed out", "signed-in": "Signed in as " };
  document.querySelector("[role=status]").textContent = shown[status] + (user?.email ?? "");
  if (user === null) return;
  close = liveList(api.notes).subscribe(({ items, status }) => {
    list.replaceChildren(...items.map(({ title }) => {
      const item = document.createElement("li");
      item.textContent = title;
      return item;
    }));
    // The session has ended, for example on another device.
    if (status === "needs-auth") auth.refresh();
  });
});

/** Waits for a request, and shows the message, or why the service has refused the request. */
async function show(message, request) {
  output.textContent = "Working…";
  output.textContent = await request
    .then(() => message, ({ problem, message }) => problem?.detail ?? message);
}

account.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = Object.fromEntries(new FormData(account));
  if (event.submitter.value === "login") show("", auth.logIn(body));
  else show("Follow the link in your mail", auth.signUp(body));
});

note.addEventListener("submit", async (event) => {
  event.preventDefault();
  await show("", api.notes.create(Object.fromEntries(new FormData(note))));
  note.reset();
});

document.querySelector("#logout").addEventListener("click", () => show("", auth.logOut()));
`;

app.hono.get("/page.js", (c) => c.body(script, 200, { "content-type": "text/javascript" }));
app.hono.get("/", (c) => {
  const policy =
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' data:";
  c.header("content-security-policy", policy);
  return c.html(page);
});

export default { fetch: app.fetch };
