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

const site = "http://127.0.0.1:8000";
const own = (user: User) => eq(notes.ownerId, user.id);

const app = await createApp({
  db,
  kv: "accounts_page.kv", // sessions: shared by all processes of a service
  auth: {
    use: [
      passwordAuth({
        signup: { pow: { difficulty: 20 } }, // a browser needs a tenth of a second
        // sendMail: ({ kind, user, link }) => …, without which links are printed
        links: { verify: `${site}/verify`, reset: `${site}/reset` },
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
const [account, note] = [document.querySelector("#account"), document.querySelector("#note")];
const [list, status] = [document.querySelector("ul"), document.querySelector("[role=status]")];
const shown = new Map();
let stream = null;

async function post(path, body, headers = {}) {
  const json = { "content-type": "application/json" };
  const init = { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) };
  const response = await fetch(path, init);
  if (response.headers.get("service-challenge-type") !== "pow") return response;
  status.textContent = "Working…";
  const token = response.headers.get("service-pow-challenge");
  const nonce = await solveInWorker({
    token,
    difficulty: Number(response.headers.get("service-pow-difficulty")),
  });
  // The same request, byte for byte: the challenge serves no other.
  return await post(path, body, { "service-pow-challenge": token, "service-pow-nonce": nonce });
}

function solveInWorker(challenge) {
  const worker = new Worker("/solver.js", { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
    worker.postMessage(challenge);
  }).finally(() => worker.terminate());
}

function show({ id, title }) {
  if (!shown.has(id)) shown.set(id, list.appendChild(document.createElement("li")));
  shown.get(id).textContent = title;
}

function clear() {
  list.replaceChildren();
  shown.clear();
}

function enter(user) {
  [account.hidden, note.hidden] = [user !== null, user === null];
  status.textContent = user === null ? "Signed out" : "Signed in as " + user.email;
  stream?.close();
  clear();
  if (user === null) return;
  stream = new EventSource("/api/notes/subscribe");
  const on = (type, work) => stream.addEventListener(type, (event) => work(JSON.parse(event.data)));
  on("existing", ({ items }) => items.forEach(show));
  on("added", ({ item }) => show(item));
  on("removed", ({ id }) => {
    shown.get(id)?.remove();
    shown.delete(id);
  });
  // The session has ended, in this window or in another.
  on("invalidate", ({ reason }) => reason === "auth_expired" ? enter(null) : clear());
}

account.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = Object.fromEntries(new FormData(account));
  const action = event.submitter.value;
  const response = await post("/api/auth/" + action, body);
  const answer = await response.json();
  if (!response.ok) status.textContent = answer.detail;
  else if (action === "login") enter(answer.user);
  else status.textContent = "Follow the link in your mail";
});

note.addEventListener("submit", async (event) => {
  event.preventDefault();
  const response = await post("/api/notes", Object.fromEntries(new FormData(note)));
  if (response.ok) note.reset();
});

document.querySelector("#logout").addEventListener("click", async () => {
  await fetch("/api/auth/logout", { method: "POST" });
  enter(null);
});

const [, token] = location.hash.match(/^#token=(.+)/) ?? [];
if (token !== undefined) {
  history.replaceState(null, "", "/");
  const { ok } = await post("/api/auth/verify", { token });
  status.textContent = ok ? "Your account is ready: log in" : "This link is of no use any more";
} else enter((await (await fetch("/api/auth/me")).json()).user);
`;

app.hono.get("/page.js", (c) => c.body(script, 200, { "content-type": "text/javascript" }));
const solver = await bundledSolver();
app.hono.get("/solver.js", (c) => c.body(solver, 200, { "content-type": "text/javascript" }));
for (const path of ["/", "/verify"]) {
  app.hono.get(path, (c) => {
    const policy =
      "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' data:";
    c.header("content-security-policy", policy);
    return c.html(page);
  });
}

/** The solver as a worker of the page. A real site bundles it when it is built. */
async function bundledSolver(): Promise<string> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    entry,
    `import { solve } from "${import.meta.resolve("@svc/resource-api/proof-of-work")}";
self.onmessage = async ({ data }) => self.postMessage(await solve(data));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--platform", "browser", "--no-check", entry],
  }).output();
  await Deno.remove(entry);
  return new TextDecoder().decode(stdout);
}

export default { fetch: app.fetch };
