import { assertEquals } from "@std/assert";
import { openDatabase, serve } from "../../../mod.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { html, navigation, shown, withPage, writeFiles } from "./web_support.ts";

/** Paths that lead out of the folder if a file system resolves them, as a client sends them. */
const traversals: readonly string[] = [
  ...["/..", "/../", "/../secret", "/../../web/secret", "/assets/../../secret", "/./../secret"],
  ...["/.", "/./index.html", "/assets/./app.js", "/assets/../index.html", "/.../../secret"],
  ...["/%2e%2e/secret", "/%2E%2E/secret", "/.%2e/secret", "/%2e./secret", "/%2e/index.html"],
  ...["/..%2fsecret", "/..%2Fsecret", "/%2e%2e%2fsecret", "/assets/..%2f..%2fsecret"],
  ...["/assets%2f..%2f..%2fsecret", "/%2fetc/passwd", "/%2f%2fetc/passwd", "/%2f..%2fsecret"],
  ...["/..\\secret", "/\\..\\secret", "/assets\\..\\..\\secret", "/..%5csecret", "/%5c..%5csecret"],
  ...["/%5C%5Cserver%5Cshare", "/assets/%5c../secret", "/\\etc\\passwd", "/c:\\windows\\win.ini"],
  ...["/index.html%00", "/index.html%00.png", "/%00/secret", "/secret%00.html", "/assets/%00"],
  ...["/%0a../secret", "/index.html%0d%0ax-a:%20b", "/%7f", "/%01"],
  ...["//etc/passwd", "///etc/passwd", "//secret", "//../secret", "//localhost/secret"],
  ...["/etc/passwd.txt", "/proc/self/environ.txt", "/file:/etc/passwd.txt", "/~root/x.txt"],
  ...["/%c0%ae%c0%ae/secret", "/%c0%af..%c0%afsecret", "/%e0%80%ae%e0%80%ae/secret", "/%ff/x"],
  ...["/%", "/%2", "/%zz/secret", "/%u002e%u002e/secret", "/..%c1%9csecret"],
  ...["/link", "/link.txt", "/links/secret.txt", "/nowhere.txt", "/fifo", "/fifo.txt"],
  ...["/.env", "/.git/config", "/%2eenv", "/assets/.hidden/x.js", "/hidden.txt"],
  ...["/app.js.map", "/assets/app.js.map", "/assets/app.js.MAP", "/app.js.map.gz"],
  ...["/INDEX.HTML", "/index.html/", "/index.html/x.js", "/assets/", "/index.html/../x.js"],
];

Deno.test("paths that lead out of the folder are 404, and read nothing", async () => {
  await using scratch = await scratchFolder();
  const folder = `${scratch.path}/web/dist`;
  const hidden = { ".env": "KEY=secret", ".git/config": "secret", "assets/.hidden/x.js": "secret" };
  const maps = { "app.js.map": "secret", "assets/app.js.map": "secret", "app.js.map.gz": "secret" };
  await writeFiles(folder, { "index.html": html, "assets/app.js": "app", ...hidden, ...maps });
  // A process that opens a named pipe waits until another process writes to the pipe.
  const pipes = [`${scratch.path}/web/secret`, `${folder}/fifo`, `${folder}/fifo.txt`];
  assertEquals((await new Deno.Command("mkfifo", { args: pipes }).output()).code, 0);
  await writeFiles(`${scratch.path}/web/out`, { "secret.txt": "secret" });
  for (
    const [target, name] of [
      ...[["../secret", "link"], ["../secret", "link.txt"], ["../out", "links"]],
      ...[["/nowhere", "nowhere.txt"], [".env", "hidden.txt"]],
    ] as const
  ) await Deno.symlink(target, `${folder}/${name}`);
  const server = await serve({
    ...{ secret: "sixteen or more characters", port: 0, resources: [], web: folder },
    db: await openDatabase("sqlite::memory:"),
    onListen() {},
  });
  try {
    assertEquals(traversals.length >= 60, true);
    for (const accept of ["*/*", "text/html"]) {
      for (const path of traversals) {
        // An address on its own is no path of the folder, so a navigation to it has no file either.
        const isPage = accept === "text/html" && plain.has(path);
        const [head = "", body = ""] = (await exchange(server.port, path, accept)).split(
          "\r\n\r\n",
        );
        const status = /^HTTP\/1.1 (\d+)/.exec(head)?.[1];
        assertEquals([status, body.includes("secret")], [isPage ? "200" : "404", false], path);
      }
    }
  } finally {
    await server.stop();
  }
});

/** Unknown paths without an extension, to which a browser can navigate. */
const plain: ReadonlySet<string> = new Set(["/link", "/fifo", "/assets/", "/index.html/"]);

/** Sends a request line as it is, which no client of HTTP would do. */
async function exchange(port: number, path: string, accept: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request =
    `GET ${path} HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\nconnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  return await new Response(connection.readable).text();
}

Deno.test("links within the folder are files, and links to folders above have no end", () =>
  withPage({ "a/b/c.txt": "see", "releases/1/app.js": "1" }, {}, async ({ app, folder, get }) => {
    await Deno.symlink("releases/1", `${folder}/current`);
    await Deno.symlink("a/b/c.txt", `${folder}/c.txt`);
    await Deno.symlink("../..", `${folder}/a/b/up`);
    await Deno.symlink(".", `${folder}/self`);
    app.hangUp?.();
    await until(async () => (await get("/c.txt", {}, "HEAD")).status === 200);
    for (const path of ["/current/app.js", "/releases/1/app.js", "/c.txt", "/a/b/c.txt"]) {
      assertEquals((await get(path, {}, "HEAD")).status, 200, path);
    }
    for (const path of ["/self/c.txt", "/a/b/up/c.txt"]) {
      assertEquals((await get(path)).status, 404, path);
    }
    // A file that has become a link since then is gone.
    await Deno.remove(`${folder}/a/b/c.txt`);
    await Deno.symlink("/etc/hostname", `${folder}/a/b/c.txt`);
    assertEquals([(await get("/c.txt")).status, (await get("/a/b/c.txt")).status], [404, 404]);
  }));

Deno.test("the files are listed again when they are asked to, or stay if that fails", () =>
  withPage({ "old.txt": "old" }, {}, async ({ app, folder, get, observations }) => {
    await writeFiles(folder, { "index.html": "second", "new.txt": "new", "old.txt": "older" });
    assertEquals(await (await get("/", navigation)).text(), html);
    assertEquals((await get("/new.txt")).status, 404);
    // The tag belongs to the bytes that were listed.
    const changed = await get("/old.txt");
    assertEquals(shown(changed, "cache-control", "etag"), [200, "no-store", null]);
    assertEquals(await changed.text(), "older");
    app.hangUp?.();
    await until(async () => (await get("/new.txt", {}, "HEAD")).status === 200);
    assertEquals(await (await get("/", navigation)).text(), "second");
    await Deno.remove(`${folder}/index.html`);
    app.hangUp?.();
    await until(() => observations.length > 0);
    const [observation] = observations;
    const reason = `web.folder is ${folder}, which contains no index.html (build the page first)`;
    assertEquals(observation, { kind: "notice", message: `the page stays as it is: ${reason}` });
    assertEquals(await (await get("/", navigation)).text(), "second");
  }));

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
