import { type Service, userHeader } from "../support/http.ts";
import { users } from "./fill.ts";
import { type Included, withIncluded } from "./includes.ts";
import { mayList } from "./oracle.ts";
import { relationsOf, View } from "./related.ts";
import { type Caller, keyOf, type Row, type State } from "./state.ts";
import type { TableName } from "./tables.ts";
import { leaked } from "./matrix.ts";
import { differs } from "./reads.ts";

/** A subscription of a caller, and the rows that a list would contain. */
interface Interest {
  readonly caller: Caller;
  readonly table: TableName;
  readonly query: string;
  readonly includes: readonly Included[];
  readonly keeps: (row: Row) => boolean;
  /** True for a live aggregate. */
  readonly counts: boolean;
}

const include = (table: TableName, name: string, inner: readonly Included[] = []): Included => {
  const relation = relationsOf[table][name];
  if (relation === undefined) throw new Error(`no relation ${table}.${name}`);
  return { name, relation, filter: null, limit: null, inner };
};
const everyRow = () => true;

type Form = Omit<Interest, "caller">;
const plain = { query: "", includes: [], keeps: everyRow, counts: false } as const;

/** The separate streams of each caller. */
const forms: readonly Form[] = [
  { ...plain, table: "tasks" },
  { ...plain, table: "teams" },
  { ...plain, table: "members" },
  { ...plain, table: "shares" },
  {
    ...plain,
    table: "tasks",
    query: "filter=points>1&include=project(include:team),comments,labels",
    includes: [
      include("tasks", "project", [include("projects", "team")]),
      include("tasks", "comments"),
      include("tasks", "labels"),
    ],
    keeps: ({ points }) => Number(points ?? 0) > 1,
  },
  { ...plain, table: "tasks", counts: true },
];

/** The subscriptions in the multiplexed stream of each caller. */
const multiplexed: readonly Form[] = [
  { ...plain, table: "orgs", query: "include=teams", includes: [include("orgs", "teams")] },
  { ...plain, table: "projects" },
  {
    ...plain,
    table: "projects",
    query: "include=tasks,blocks",
    includes: [include("projects", "tasks"), include("projects", "blocks")],
  },
  { ...plain, table: "comments", query: "include=task", includes: [include("comments", "task")] },
  { ...plain, table: "taggings" },
  { ...plain, table: "projects", counts: true },
  { ...plain, table: "comments", counts: true },
];

const groupOf: Partial<Record<TableName, string>> = {
  ...{ tasks: "status", projects: "teamId", comments: "authorId" },
};

function pathOf({ table, query, counts }: Form): string {
  if (!counts) return `/api/${table}/subscribe${query === "" ? "" : `?${query}`}`;
  return `/api/${table}/aggregate/subscribe?count=true&groupBy=${groupOf[table]}`;
}

/** The rows that a client has received from one subscription. */
class Held {
  readonly interest: Interest;
  readonly #rows = new Map<string, Row>();
  #groups: unknown = null;
  #isSynced = false;
  isOver = false;
  /** True if events have arrived since the last comparison. */
  isChanged = true;

  constructor(interest: Interest) {
    this.interest = interest;
  }

  // deno-lint-ignore no-explicit-any -- the data of an event
  take(type: string, data: any): void {
    const { table, counts } = this.interest;
    this.isChanged = true;
    if (type === "invalidate") {
      this.#rows.clear();
      this.#isSynced = false;
      this.isOver ||= data.reason === "auth_expired";
    } else if (type === "aggregate") {
      this.#groups = data.groups;
      this.#isSynced = true;
    } else if (type === "removed") {
      this.#rows.delete(String(data.id));
    } else if (!counts) {
      const rows: readonly Row[] = type === "existing" ? data.items : [data.item];
      for (const { _etag, ...row } of rows) this.#rows.set(keyOf(table, row), row);
      if (type === "existing" && !data.hasMore) this.#isSynced = true;
    }
  }

  /** Returns the difference from the current list, or null. */
  wrong(view: View): string | null {
    if (!this.#isSynced) return "has not all rows yet";
    const { table, includes, keeps, counts } = this.interest;
    const rows = view.rows(table).filter(keeps);
    const asc = (list: readonly unknown[]) => list.map((one) => JSON.stringify(one)).toSorted();
    if (counts) {
      const name = groupOf[table] ?? "";
      const groups = [...Map.groupBy(rows, (row) => row[name])]
        .map(([value, members]) => ({ key: { [name]: value }, count: members.length }));
      // The groups come from an aggregate event.
      return differs(asc(this.#groups as readonly unknown[]), asc(groups));
    }
    const right = rows.map((row) => [keyOf(table, row), withIncluded(table, row, view, includes)]);
    return differs(Object.fromEntries(this.#rows), Object.fromEntries(right));
  }
}

/** The streams of all callers over a service. */
export class Streams {
  readonly #service: Service;
  readonly #held: Held[] = [];
  readonly #aborting = new AbortController();
  readonly #readers: ReadableStreamDefaultReader<string>[] = [];
  readonly #pumps: Promise<void>[] = [];
  /** The states since the last quiet point: events may contain rows of each of them. */
  #states: State[] = [];
  #came: { readonly interest: Interest; readonly text: string }[] = [];
  readonly leaks: string[] = [];
  #wake: () => void = () => {};

  constructor(service: Service) {
    this.#service = service;
  }

  get count(): number {
    return this.#held.length;
  }

  async open(state: State): Promise<void> {
    this.#states = [state];
    for (const caller of [null, ...users]) {
      for (const form of forms) {
        const interest = { ...form, caller };
        const isOpen = mayList(caller, form.table);
        const stream = await this.#ask(caller, pathOf(form), isOpen ? 200 : 401);
        if (stream !== null) this.#follow(stream, new Map([["", this.#hold(interest)]]));
      }
      const open = multiplexed.filter(({ table }) => mayList(caller, table));
      const held = new Map(open.map((form, index) => [
        String(index),
        this.#hold({ ...form, caller }),
      ]));
      const subscriptions = open.map((form, index) => ({ key: String(index), path: pathOf(form) }));
      const stream = await this.#ask(caller, "/__service/live", 200, { subscriptions });
      if (stream !== null) this.#follow(stream, held);
    }
  }

  #hold(interest: Interest): Held {
    const held = new Held(interest);
    this.#held.push(held);
    return held;
  }

  async #ask(caller: Caller, path: string, right: number, body?: unknown) {
    const response = await this.#service.app.fetch(
      new Request(`http://localhost${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(caller === null ? {} : { [userHeader]: caller }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: this.#aborting.signal,
      }),
    );
    if (response.status !== right) {
      throw new Error(`${caller} ${path}: ${response.status} ${await response.text()}`);
    }
    if (right === 200) return response.body;
    await response.body?.cancel();
    return null;
  }

  #follow(stream: NonNullable<Response["body"]>, held: ReadonlyMap<string, Held>): void {
    this.#pumps.push(
      this.#pump(stream, held).catch((error) => {
        if (!this.#aborting.signal.aborted) this.leaks.push(`a stream failed: ${error}`);
      }),
    );
  }

  async #pump(stream: NonNullable<Response["body"]>, held: ReadonlyMap<string, Held>) {
    let unread = "";
    let current = held.get("");
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    this.#readers.push(reader);
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      unread += value;
      const blocks = unread.split("\n\n");
      unread = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, type] = /^event: (\S+)$/m.exec(block) ?? [];
        const [, json] = /^data: (.*)$/m.exec(block) ?? [];
        if (type === undefined || json === undefined) continue;
        const data = JSON.parse(json);
        if (type === "subscription") current = held.get(data.key);
        else if (type === "refused") this.leaks.push(`refused: ${json}`);
        else if (current !== undefined) this.#take(current, type, data, json);
      }
      this.#wake();
    }
  }

  #take(held: Held, type: string, data: unknown, json: string): void {
    // The text is checked at the next quiet point, when the state of the event is known.
    this.#came.push({ interest: held.interest, text: `${type} ${json}` });
    held.take(type, data);
  }

  /** Adds a state whose rows events may contain. */
  saw(state: State): void {
    this.#states.push(state);
  }

  /** Waits until every client has the rows of its list. Returns the differences after a timeout. */
  async quiet(state: State, timeoutMs: number): Promise<readonly string[]> {
    const views = new Map<Caller, View>([null, ...users].map((one) => [one, new View(state, one)]));
    let [isOver, isFirst] = [false, true];
    const timer = setTimeout(() => {
      isOver = true;
      this.#wake();
    }, timeoutMs);
    try {
      const wrong = new Map(this.#held.map((held) => [held, "is not judged yet"]));
      for (;;) {
        const woken = new Promise<void>((resolve) => this.#wake = resolve);
        for (const held of this.#held) {
          if (!held.isChanged && !isFirst) continue;
          held.isChanged = false;
          const what = held.wrong(views.get(held.interest.caller) ?? new View(state, null));
          if (what === null) wrong.delete(held);
          else wrong.set(held, what);
        }
        isFirst = false;
        if (wrong.size === 0 || isOver) {
          return [...wrong].map(([{ interest }, what]) =>
            `${interest.caller} ${pathOf(interest)} ${what}`
          );
        }
        await woken;
      }
    } finally {
      clearTimeout(timer);
      for (const { interest: { caller, table }, text } of this.#came) {
        const mark = leaked(text, "", caller, this.#states);
        if (mark !== null) this.leaks.push(`${mark} for ${caller} of ${table}: ${text}`);
      }
      this.#came = [];
      this.#states = [state];
    }
  }

  async close(): Promise<void> {
    this.#aborting.abort();
    await Promise.all(this.#readers.map((reader) => reader.cancel().catch(() => {})));
    await Promise.all(this.#pumps);
  }
}
