import { type EventStream, openEventStream, type ServerEvent } from "../support/event_stream.ts";

/** An answer of the drive: what was sent, the status, and what is in the body. */
export type Step = readonly [request: string, status: number, answer: unknown];

type Send = (
  user: string,
  request: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Response>;

/** Uses every part of the tracker by real requests, and gives the answers without moments. */
export async function drive(origin: string): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const send: Send = async (user, request, body, headers = {}) => {
    const [method = "", path = ""] = request.split(" ");
    const response = await fetch(`${origin}/api/${path}`, {
      method,
      headers: { "x-user": user, "content-type": "application/json", ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.clone().text();
    const sent = `${user}: ${request.replace(/cursor=.*/, "cursor=…")}`;
    steps.push([sent, response.status, text === "" ? null : plain(text)]);
    return response;
  };
  const json = async (sent: Promise<Response>) => await (await sent).json();

  await setUp(send);
  const stream = await openEventStream(
    (signal) =>
      fetch(`${origin}/api/issues/subscribe?filter=state==open&select=id,title,state`, {
        headers: { "x-user": "ada" },
        signal,
      }),
    () => {},
  );
  try {
    await stream.untilSynced();
    await writeIssues(send);
    await readIssues(send, json);
    await upsertRows(send);
    await refuse(send);
    steps.push(["the stream", 200, await eventsOf(stream)]);
  } finally {
    await stream.close();
  }
  return steps;
}

async function setUp(send: Send): Promise<void> {
  for (const id of ["ada", "bob", "eve"]) {
    await send(id, "POST users", { id, name: id, email: `${id}@example.org` });
  }
  const members = [{ userId: "ada", role: "admin" }, { userId: "bob" }];
  await send("ada", "POST teams", { name: "core", members });
  await send("eve", "POST teams", { name: "other", members: [{ userId: "eve", role: "admin" }] });
  await send("ada", "POST projects", { teamId: 1, key: "API", name: "The API" });
  await send("eve", "POST projects", { teamId: 2, key: "WEB", name: "The page" });
  await send("ada", "POST labels/batch", {
    items: [{ name: "bug", colour: "red" }, { name: "idea" }],
  });
}

/** Creates, changes, closes and deletes, with the hooks of each. */
async function writeIssues(send: Send): Promise<void> {
  await send("ada", "POST issues", {
    projectId: 1,
    title: "  Crash at start  ",
    assigneeId: "bob",
    labels: [{ id: 1 }],
    thread: [{ authorId: "ada", body: "Since today" }],
  });
  const titles = ["Slow list", "Dark page", "A typo", "Typos again"];
  const items = titles.map((title) => ({ projectId: 1, title }));
  await send("ada", "POST issues/batch", { items });
  await send("bob", "PATCH issues/1", { title: "Crash at the start" }, { "if-match": 'W/"1"' });
  await send("bob", "PATCH issues/1", { title: "lost" }, { "if-match": 'W/"1"' });
  await send("bob", "PATCH issues/2", { assigneeId: "ada", labels: { connect: [{ id: 2 }] } });
  await send("bob", "POST issues/rpc/close", { id: 1, reason: "Mended" });
  await send("bob", "PATCH issues/1", { title: "too late" });
  await send("bob", "PATCH issues/1", { state: "open" });
  await send("ada", "DELETE issues/1");
  await send("ada", "DELETE issues/5");
  await send("ada", "DELETE comments/1");
}

/** Lists by filters along relations, with related rows, and pages of both kinds. */
async function readIssues(send: Send, json: (sent: Promise<Response>) => Promise<Page>) {
  await send("bob", "GET issues?filter=assignee.name==bob&include=labels,thread(orderBy:id)");
  await send("ada", "GET issues?filter=labels.name==idea,title=icontains=TYPO&select=id,title");
  await send("ada", "GET teams?include=projects.issues(select:id,title;limit:2),members");
  const page = await json(send("ada", "GET issues?orderBy=-title&select=title&limit=2&offset=1"));
  await send("ada", `GET issues?orderBy=-title&select=title&limit=2&cursor=${page.nextCursor}`);
  await send("ada", "GET issues/aggregate?groupBy=state&count=true&sum=comments");
  await send("eve", "GET issues");
  await send("eve", "GET issues/1");
}

interface Page {
  readonly nextCursor: string;
}

/** By unique keys other than the primary one. */
async function upsertRows(send: Send): Promise<void> {
  await send("ada", "POST labels?on=name", { name: "bug", colour: "orange" });
  await send("ada", "POST labels/batch/upsert?on=name", {
    items: [{ name: "docs" }, { name: "idea", colour: "blue" }],
  });
  await send("ada", "POST projects?on=key,teamId", { teamId: 1, key: "API", name: "An API" });
  await send("ada", "POST projects?on=key", { teamId: 1, key: "API", name: "An API" });
}

async function refuse(send: Send): Promise<void> {
  await send("ada", "POST issues", { projectId: 1, title: " " });
  await send("eve", "PATCH issues/2", { title: "mine now" });
  await send("eve", "POST issues/rpc/close", { id: 2, reason: "no" });
  await send("ada", "POST issues/rpc/close", { id: 2 });
  await send("ada", "GET issues?offset=10001");
}

/**
 * The last event of each row. A busy service may send the changes of a row as one, at the place of
 * the last change: after the removal that ends the loop, but before the next position.
 */
async function eventsOf(stream: EventStream): Promise<unknown> {
  const events = new Map<unknown, unknown>();
  const take = ({ type, data: { id, item } }: ServerEvent) =>
    events.set(id ?? item?.id, type === "removed" ? "removed" : item);
  while (events.get(5) !== "removed") {
    const event = await stream.next();
    if (event === null) break;
    take(event);
  }
  (await stream.restOfPart()).forEach(take);
  return [...events].sort(([one], [other]) => Number(one) - Number(other));
}

/** The JSON without what differs from run to run. */
function plain(text: string): unknown {
  return JSON.parse(
    text.replaceAll(/"(createdAt|nextCursor)":"[^"]*"/g, '"$1":"…"'),
  );
}
