/** What strangers send, as one would come upon it: nothing here knows how the service defends. */

/** One request of an attacker. */
export interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** How each connection of an attack behaves until the attack ends. */
export type Use =
  /** Reads each response, then sends the next request. */
  | "reads"
  /** Reads only the status, so that the service keeps the rest of the response. */
  | "never reads"
  /** Disconnects a few milliseconds after each request. */
  | "leaves"
  /** Reads a stream that does not end. */
  | "streams"
  /** Sends only the beginning of a request. */
  | "half-sent"
  /** Sends an endless body, one byte at a time. */
  | "trickles";

/** An attack that several connections carry out simultaneously. */
export interface Attack {
  readonly name: string;
  readonly use: Use;
  readonly request: (turn: number) => Sent;
  /** Returns a change that a signed-in user sends several times per second during the attack. */
  readonly change?: (turn: number) => Sent;
  /** The numbers of connections. Default: one and fifty. */
  readonly connections?: readonly number[];
  /** The limit of file descriptors of the service. */
  readonly descriptors?: number;
  /** Other clients also send requests that require a proof of work. */
  readonly othersWork?: true;
}

const json = { "content-type": "application/json" };
const user = { ...json, "x-user": "mallory" };

const get = (path: string) => () => ({ path });

/** Returns patterns of about 100 characters, which match at every character of an article. */
function patterns(operator: string, count: number): string {
  const one = (index: number) =>
    `body${operator}"%${"a".repeat(60)}_${"a".repeat(index)}b${index}%"`;
  return encodeURIComponent(Array.from({ length: count }, (_, index) => one(index)).join(","));
}

const dearFilter = patterns("=like=", 35);
const unknownFields = JSON.stringify(
  Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${10_000 + index}`, 0])),
);

const expandingInclude = "/api/essays?limit=99&include=author(include:essays)";

/** Returns a change of a row to `bytes` characters, different in each turn. */
const articleOf = (bytes: number) => (turn: number) => ({
  method: "PATCH",
  path: "/api/articles/3",
  headers: user,
  body: JSON.stringify({ body: "a".repeat(bytes) + turn }),
});

const changeDocument = (turn: number) => ({
  method: "PATCH",
  path: `/api/documents/${turn % 2_500 + 1}`,
  headers: user,
  body: JSON.stringify({ n: 10_000 + turn }),
});

const streamOfDearFilter = get(`/api/articles/subscribe?skipExisting=true&filter=${dearFilter}`);
const groups = "/api/documents/aggregate/subscribe?groupBy=body,n&min=body";

/** All attacks. */
export const attacks: readonly Attack[] = [
  { name: "include that expands", use: "reads", request: get(expandingInclude) },
  { name: "include that expands, unread", use: "never reads", request: get(expandingInclude) },
  { name: "rows of 1 MB", use: "reads", request: get("/api/books?limit=100") },
  { name: "rows of 1 MB, unread", use: "never reads", request: get("/api/books?limit=100") },
  { name: "answers of 12 MB, unread", use: "never reads", request: get("/api/books?limit=12") },
  {
    name: "rows of 1 MB by key, left",
    use: "leaves",
    request: (turn) => ({ path: `/api/books/${turn % 120 + 1}` }),
  },
  {
    name: "streams of large groups",
    use: "streams",
    request: get(groups),
    change: changeDocument,
    connections: [1, 15, 50],
  },
  {
    name: "streams of large groups, limit=1",
    use: "streams",
    request: get(`${groups}&limit=1`),
    change: changeDocument,
  },
  {
    name: "cursors of 1 MB",
    use: "reads",
    request: (turn) => ({
      path: `/api/books?select=id&limit=1&orderBy=${turn % 2 ? "-" : ""}body&filter=id%3E${
        turn % 119
      }`,
    }),
  },
  {
    name: "keyed writes with large answers",
    use: "reads",
    request: (turn) => ({
      method: "PATCH",
      path: "/api/uploads/1",
      headers: { ...user, "idempotency-key": `${crypto.randomUUID()}` },
      body: JSON.stringify({ body: "u".repeat(800_000) + turn }),
    }),
    othersWork: true,
  },
  {
    name: "body of 90,000 fields",
    use: "reads",
    request: () => ({ method: "PATCH", path: "/api/notes/9", headers: user, body: unknownFields }),
  },
  {
    name: "body byte by byte",
    use: "trickles",
    request: () => ({ method: "PATCH", path: "/api/notes/9", headers: user }),
  },
  {
    name: "body of one number",
    use: "reads",
    request: () => ({
      method: "PATCH",
      path: "/api/notes/9",
      headers: user,
      body: `{"title":${"9".repeat(1_000_000)}}`,
    }),
  },
  {
    name: "count along a walk there and back",
    use: "reads",
    request: get("/api/posts/count?filter=author.posts.title==zzz"),
  },
  {
    name: "list along a walk, twelve conditions",
    use: "reads",
    request: get(
      `/api/posts?filter=${
        Array.from({ length: 12 }, (_, at) => `author.posts.title==z${at}`).join()
      }`,
    ),
  },
  {
    name: "35 patterns over 10 MB",
    use: "reads",
    request: get(`/api/articles?filter=${dearFilter}`),
  },
  {
    name: "20 case-folded patterns over 10 MB",
    use: "reads",
    request: get(`/api/articles/count?filter=${patterns("=ilike=", 20)}`),
  },
  {
    name: "streams of 35 patterns, rows of 20 kB",
    use: "streams",
    request: streamOfDearFilter,
    change: articleOf(20_000),
  },
  {
    name: "streams of 35 patterns, rows of 1 MB",
    use: "streams",
    request: streamOfDearFilter,
    change: articleOf(1_000_000),
  },
  {
    name: "7 patterns over 10 MB",
    use: "reads",
    request: get(`/api/articles?filter=${patterns("=like=", 7)}`),
  },
  {
    name: "7 case-folded patterns over 10 MB",
    use: "reads",
    request: get(`/api/articles/count?filter=${patterns("=ilike=", 7)}`),
  },
  {
    name: "streams of 7 patterns, rows of 1 MB",
    use: "streams",
    request: get(`/api/articles/subscribe?skipExisting=true&filter=${patterns("=like=", 7)}`),
    change: articleOf(1_000_000),
  },
  {
    name: "half-sent headers",
    use: "half-sent",
    request: get("/api/notes"),
    descriptors: 1_024,
  },
];
