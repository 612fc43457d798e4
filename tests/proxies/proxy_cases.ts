/** What must be true through every proxy. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { ProxyName } from "../support/proxies.ts";
import { writeThroughOutbox } from "./client_case.ts";
import { streamsPerAddress } from "./proxied_service.ts";
import type { Setting } from "./start_proxies.ts";
import { connect, exchange, openStream, send, type Site, type Through } from "./through.ts";

export interface ProxyCase {
  readonly name: string;
  /** The configurations for which the promise holds. */
  readonly settings: readonly Setting[];
  work(through: Through): Promise<void>;
}

/** A case that must be true with HTTP/1.1 and with HTTP/2. */
function atEachSite(
  name: string,
  work: (site: Site, through: Through) => Promise<void>,
  settings: readonly Setting[] = ["documented", "usual"],
): ProxyCase {
  return {
    name,
    settings,
    async work(through) {
      for (const site of through.sites) await work(site, through);
    },
  };
}

const documented: readonly Setting[] = ["documented"];

/** The last case stops and starts the service. */
export const proxyCases: readonly ProxyCase[] = [
  atEachSite("events arrive one by one, and a stream resumes", async (site) => {
    const path = "/api/notes/subscribe";
    // Caddy decides by the first 512 bytes if it compresses.
    await send(site, "/api/notes", post({ title: "long ".repeat(200) }));
    const stream = await openStream(site, path, { "accept-encoding": "gzip" });
    await stream.untilSynced();
    for (const title of ["first", "second"].map((title) => `${title} by ${site.name}`)) {
      assertEquals((await send(site, "/api/notes", post({ title }))).status, 201);
      // A stream can begin with an earlier snapshot, and the events since then.
      while ((await stream.next())?.data.item.title !== title);
    }
    const token = await stream.untilToken();
    await stream.close();
    await send(site, "/api/notes", post({ title: "in between" }));
    const resumed = await openStream(site, path, { "last-event-id": token });
    const event = await resumed.next();
    assertEquals([event?.type, event?.data.item.title], ["added", "in between"]);
    await resumed.close();
  }),

  atEachSite(
    "an ETag is valid as it arrives, also of a compressed response",
    async (site, { proxy }) => {
      const compressed: string[] = [];
      for (const resource of ["notes", "papers"]) {
        const title = "long ".repeat(2_000);
        const { headers } = await send(site, `/api/${resource}`, post({ title }));
        const path = headers.get("location") ?? "";
        for (const encoding of ["gzip", "br", "zstd", "identity"]) {
          const accepted = { "accept-encoding": encoding };
          const read = await send(site, path, { headers: accepted });
          const tag = read.headers.get("etag") ?? "";
          if (read.headers.has("content-encoding")) compressed.push(`${resource} ${encoding}`);
          const again = await send(site, path, { headers: { ...accepted, "if-none-match": tag } });
          assertEquals([resource, encoding, tag, again.status, again.text], [
            ...[resource, encoding, tag, 304, ""],
          ]);
          const patch = { method: "PATCH", json: { title: title + encoding } };
          const write = () =>
            send(site, path, { ...patch, headers: { ...accepted, "if-match": tag } });
          assertEquals([resource, encoding, tag, (await write()).status], [
            resource,
            encoding,
            tag,
            200,
          ]);
          const outdated = await write();
          assertEquals([outdated.status, JSON.parse(outdated.text).code], [
            412,
            "PRECONDITION_FAILED",
          ]);
        }
      }
      // HAProxy leaves responses with `no-transform` as they are.
      const expected = proxy === "haproxy" ? ["notes gzip"] : ["notes gzip", "papers gzip"];
      assertEquals(expected.filter((one) => !compressed.includes(one)), []);
      for (const path of ["/__service/openapi.json", "/__service/client.js"]) {
        for (const encoding of ["gzip", "br", "identity"]) {
          const accepted = { "accept-encoding": encoding };
          const tag = (await send(site, path, { headers: accepted })).headers.get("etag") ?? "";
          const again = await send(site, path, { headers: { ...accepted, "if-none-match": tag } });
          assertEquals([path, encoding, tag, again.status], [path, encoding, tag, 304]);
        }
      }
    },
  ),

  atEachSite("every key is reached", async (site, { proxy, setting }) => {
    const isRefused = proxy === "apache" && setting === "usual";
    for (const id of oddKeys) {
      const created = await send(site, "/api/names", post({ id, title: id }));
      const path = created.headers.get("location") ?? "";
      const segment = /^\.{0,2}$/.test(id) ? `,${id}` : encodeURIComponent(id);
      assertEquals([created.status, path], [201, `/api/names/${segment}`]);
      const read = await send(site, path);
      // Apache itself refuses `%2F` unless its configuration allows it.
      if (isRefused && id.includes("/")) {
        assertEquals([id, read.status, read.headers.get("content-type")], [id, 404, htmlOfApache]);
        const listed = await send(site, `/api/names?filter=${encodeURIComponent(`id=="${id}"`)}`);
        assertEquals(JSON.parse(listed.text).items, [{ id, title: id }]);
        const json = { items: [{ id, title: "by its batch" }] };
        await send(site, "/api/names/batch/upsert", { method: "POST", json });
        continue;
      }
      assertEquals([id, read.status, JSON.parse(read.text)], [id, 200, { id, title: id }]);
      const patched = await send(site, path, { method: "PATCH", json: { title: "changed" } });
      assertEquals([id, JSON.parse(patched.text)], [id, { id, title: "changed" }]);
      assertEquals([id, (await send(site, path, { method: "DELETE" })).status], [id, 204]);
      assertEquals([id, (await send(site, path)).status], [id, 404]);
    }
    const long = await send(site, "/api/names", post({ id: "k".repeat(5_000) }));
    assertEquals([long.status, long.headers.get("location")], [201, null]);
    await deleteAll(site, "names");
  }),

  atEachSite("a service below a path names itself with the path", async (site) => {
    const created = await send(site, "/v1/api/names", post({ id: "a/b//c%2F" }));
    const path = created.headers.get("location");
    assertEquals(path, "/v1/api/names/a%2Fb%2F%2Fc%252F");
    assertEquals((await send(site, path ?? "")).status, 200);
    assertEquals((await send(site, `${path}?select=id`)).text, '{"id":"a/b//c%2F"}');
    assertEquals((await send(site, path ?? "", { method: "DELETE" })).status, 204);
    const problem = JSON.parse((await send(site, path ?? "")).text);
    assertEquals(problem.type, "/v1/__service/problems/not-found");
    assertEquals((await send(site, problem.type)).status, 200);
  }, documented),

  atEachSite("the service sees the host of the client", async (site, { proxy, setting, ports }) => {
    const seen = JSON.parse((await send(site, "/seen")).text);
    const isChanged = setting === "usual" && (proxy === "nginx" || proxy === "apache");
    const { host, protocol } = new URL(site.url);
    assertEquals(seen.host, isChanged ? `127.0.0.1:${ports.service}` : host);
    if (setting === "documented") assertEquals(`${seen["x-forwarded-proto"]}:`, protocol);
  }),

  atEachSite("an inner proxy adds the address of the outer proxy", async (site) => {
    // This client is the other proxy: it adds the last address.
    const headers = { "x-forwarded-for": "192.0.2.1, 192.0.2.2" };
    const seen = JSON.parse((await send(site, "/seen", { headers })).text);
    const addresses = seen["x-forwarded-for"].split(",").map((one: string) => one.trim());
    assertEquals(addresses, ["192.0.2.1", "192.0.2.2", "127.0.0.1"]);
  }, ["inner"]),

  atEachSite("a live list of the typed client shows the writes of an outbox", writeThroughOutbox),

  {
    name: "a client is counted by its address, whatever it claims",
    settings: documented,
    async work({ sites: [site] }) {
      const open = (localAddress: string, claimed: string) =>
        openFrom(site, localAddress, { "x-forwarded-for": claimed });
      const streams = [];
      for (let turn = 0; turn < streamsPerAddress; turn++) {
        streams.push(await open("127.0.0.9", `192.0.2.${turn}`));
      }
      streams.push(await open("127.0.0.9", "192.0.2.9"), await open("127.0.0.10", "127.0.0.9"));
      const taken = Array<number>(streamsPerAddress).fill(200);
      assertEquals(streams.map(({ status }) => status), [...taken, 429, 200]);
      for (const stream of streams) await stream.leave();
    },
  },

  {
    name: "the streams of a client that has left end at the latest with the next event",
    settings: documented,
    async work({ sites: [site] }) {
      assert(site !== undefined);
      const open = () => openFrom(site, "127.0.0.11", {});
      for (let turn = 0; turn < streamsPerAddress; turn++) await (await open()).leave();
      while (true) {
        await send(site, "/api/notes", post({ title: "an event" }));
        const { status, leave } = await open();
        await leave();
        if (status === 200) break;
      }
    },
  },

  atEachSite("HEAD, 304 and 204 leave the connection usable", async (site) => {
    const { headers } = await send(site, "/api/notes", post({ title: "a note" }));
    const path = headers.get("location") ?? "";
    const known = { "if-none-match": headers.get("etag") ?? "" };
    for (
      const [sent, status] of [
        [{ method: "HEAD" }, 200],
        [{ headers: known }, 304],
        [{ method: "HEAD", headers: known }, 304],
        [{ method: "DELETE" }, 204],
        [{ method: "HEAD" }, 404],
      ] as const
    ) {
      const received = await send(site, path, sent);
      assertEquals([sent, received.status, received.text], [sent, status, ""]);
      assertEquals((await send(site, "/healthz")).status, 200);
    }
    for (const path of ["/api/notes", "/api/notes/subscribe"]) {
      assertEquals((await send(site, path, { method: "HEAD" })).text, "");
    }
  }),

  {
    name: "bodies in chunks, and bodies that wait for 100, arrive",
    settings: ["documented", "usual"],
    async work({ ports }) {
      const head =
        "POST /api/notes HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
      const body = '{"title":"in parts"}';
      const chunks = `9\r\n${body.slice(0, 9)}\r\nb\r\n${body.slice(9)}\r\n0\r\n\r\n`;
      const chunked = `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`;
      assertMatch(await exchange(ports.plain, chunked), /^HTTP\/1\.1 201 /);
      using waiting = await connect(ports.plain);
      await waiting.send(`${head}expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`);
      assertMatch(await waiting.until("\r\n\r\n"), /^HTTP\/1\.1 100 /);
      await waiting.send(body);
      assertMatch(await waiting.until("in parts"), /HTTP\/1\.1 201 /);
    },
  },

  atEachSite("long filters and long cursors arrive", async (site) => {
    // Words that a cursor cannot store in fewer bytes.
    const title = Array.from({ length: 300 }, (_, index) => Math.sin(index)).join("").slice(
      0,
      1_500,
    );
    for (let index = 0; index < 3; index++) {
      await send(site, "/api/papers", post({ title: title + index }));
    }
    const filter = encodeURIComponent(`title=in=("${"é".repeat(2_500)}","${title}1")`);
    assert(filter.length > 15_000);
    const found = await send(site, `/api/papers?filter=${filter}`);
    assertEquals([found.status, JSON.parse(found.text).items?.length], [200, 1]);
    const query = "/api/papers?orderBy=title&limit=1";
    const { nextCursor } = JSON.parse((await send(site, query)).text);
    assert(nextCursor.length > 1_000);
    const next = await send(site, `${query}&cursor=${encodeURIComponent(nextCursor)}`);
    assertEquals(next.status, 200);
    await deleteAll(site, "papers");
  }, documented),

  atEachSite("a long filter in a body arrives, and its ETag is valid", async (site) => {
    const filter = `title=in=("${"é".repeat(3_000)}")`;
    const sent = { method: "POST", json: { filter }, headers: { "accept-encoding": "gzip" } };
    const { status, text, headers } = await send(site, "/api/notes/query", sent);
    assertEquals([status, JSON.parse(text).items], [200, []]);
    const known = { ...sent.headers, "if-none-match": headers.get("etag") ?? "" };
    const again = await send(site, "/api/notes/query", { ...sent, headers: known });
    assertEquals([again.status, again.text], [304, ""]);
  }),

  atEachSite("a long export arrives complete", async (site) => {
    const items = Array.from({ length: 100 }, (_, index) => ({ title: `${index} `.repeat(2_000) }));
    assertEquals((await send(site, "/api/notes/batch", post({ items }))).status, 201);
    const headers = { accept: "application/x-ndjson", "accept-encoding": "gzip" };
    const { text } = await send(site, "/api/notes", { headers });
    const rows = text.trimEnd().split("\n").map((line) => JSON.parse(line).title);
    assertEquals(items.filter(({ title }) => !rows.includes(title)), []);
    await deleteAll(site, "notes");
  }),

  {
    name: "half-sent headers of fifty connections are cut off, and others are answered",
    settings: documented,
    async work({ sites: [site], ports }) {
      assert(site !== undefined);
      const halves = Array.from(
        { length: 50 },
        () => exchange(ports.plain, "GET /api/notes HTTP/1.1\r\nhost: x\r\nx-ha"),
      );
      assertEquals((await send(site, "/api/notes")).status, 200);
      await Promise.all(halves);
    },
  },

  {
    name: "a body over the limit is refused before it has been sent",
    settings: documented,
    async work({ ports, proxy }) {
      using connection = await connect(ports.plain);
      const head = "POST /api/notes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
      // Apache reads the response of the service after it has sent the whole body.
      const begun = " ".repeat(proxy === "apache" ? 9_000_000 : 2_000_000);
      // The proxy may close the connection while this is written.
      const writing = connection.send(`${head}content-length: 9000000\r\n\r\n${begun}`)
        .catch(() => null);
      // Caddy says 502 where it finds out before the service does.
      const refused = proxy === "caddy" ? /^HTTP\/1\.1 (?:413|502) / : /^HTTP\/1\.1 413 /;
      assertMatch(await connection.until("\r\n"), refused);
      await writing;
    },
  },

  {
    name: "a write is sent to the service once, and a service that starts again is reached",
    settings: documented,
    async work({ sites: [site], ports, service }) {
      assert(site !== undefined);
      await service.stop();
      const gone = await send(site, "/api/notes");
      assertMatch(String(gone.status), /^50[234]$/);
      assertNotEquals(gone.headers.get("content-type"), "application/problem+json");
      const methods = await requestsUntilClosed(service.port, async () => {
        // On a connection that is not the first request's, HAProxy and Apache close instead of
        // answering, and a client may send the request again.
        for (const method of ["POST", "PATCH"]) {
          const head = `${method} /api/notes HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`;
          const answer = await exchange(ports.plain, `${head}content-length: 2\r\n\r\n{}`);
          assertMatch(answer, /^HTTP\/1\.1 50[234] /);
        }
      });
      assertEquals(methods, ["POST", "PATCH"]);
      await service.start();
      assertEquals((await send(site, "/api/notes")).status, 200);
      assertEquals((await send(site, "/api/notes", post({ title: "again" }))).status, 201);
    },
  },
];

const oddKeys: readonly string[] = [
  ...["", ".", "..", "..."],
  ...["a/b", "a//b", "/", "//", "a%2Fb", "%", "%25", "100%", "a%b", "a/../b", "../x", "a/./b"],
  ...["a b", "a+b", "a?b", "a#b", "a;b", "a\\b", "é", "\u{1f600}", "a&b", "a:b", "a@b", "a,b"],
  ...["~", "'", '"', "*", "[x]", "a\tb", "a\nb", "a\rb", "\u007f", "a.", ".htaccess", "x.php"],
];

const htmlOfApache = "text/html; charset=iso-8859-1";

function post(json: unknown) {
  return { method: "POST", json };
}

/** A DELETE with a body. */
async function deleteAll(site: Site, resource: string): Promise<void> {
  const sent = { method: "DELETE", json: { filter: "id!=null" } };
  assertEquals((await send(site, `/api/${resource}/batch`, sent)).status, 200);
}

/** Opens a stream from one of the addresses of this machine. */
async function openFrom(
  site: Site | undefined,
  localAddress: string,
  headers: Readonly<Record<string, string>>,
) {
  const client = Deno.createHttpClient({ localAddress });
  const response = await fetch(`${site?.url}/api/notes/subscribe`, { client, headers });
  return {
    status: response.status,
    async leave() {
      await response.body?.cancel();
      client.close();
    },
  };
}

/** Closes each connection after the head of its first request; returns the methods. */
async function requestsUntilClosed(port: number, work: () => Promise<void>): Promise<string[]> {
  const methods: string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const accepting = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(16_384);
      const count = await connection.read(buffer);
      const [method = ""] = new TextDecoder().decode(buffer.subarray(0, count ?? 0)).split(" ", 1);
      if (method !== "") methods.push(method);
      connection.close();
    }
  })();
  await work();
  listener.close();
  await accepting;
  return methods;
}

/** The names of the proxies, in the order of the tests. */
export const proxyNames: readonly ProxyName[] = ["nginx", "caddy", "haproxy", "apache"];
