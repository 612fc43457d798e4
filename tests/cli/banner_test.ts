import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { banner, type BannerContents, shellQuote } from "../../src/cli/run_service.ts";

const facts: BannerContents = {
  version: "1.2.3",
  subject: "shop.db, read-only",
  host: "127.0.0.1",
  port: 8123,
  paths: ["/api/orders", "/api/order%20lines"],
  indexPath: "/api/",
  rights: { token: null, readsNeedToken: false, localOnly: false, writable: false },
  example: "/api/orders?limit=3",
};

Deno.test("the banner shows the subject, the addresses and an example", () => {
  assertEquals(
    banner(facts),
    `resource-api 1.2.3: serving shop.db, read-only

  http://127.0.0.1:8123/api/orders
  http://127.0.0.1:8123/api/order%20lines
  http://127.0.0.1:8123/healthz

Try:
  curl -g 'http://127.0.0.1:8123/api/orders?limit=3'
`,
  );
});

Deno.test("the token is shown, and is part of the command where reads need it", () => {
  const open = banner({
    ...facts,
    rights: { token: "t_x", readsNeedToken: false, localOnly: false, writable: true },
  });
  assertStringIncludes(open, "Writes need the header  Authorization: Bearer t_x");
  assertStringIncludes(open, "\n  curl -g 'http");
  const closed = banner({
    ...facts,
    rights: { token: "t_x", readsNeedToken: true, localOnly: false, writable: false },
  });
  assertStringIncludes(closed, "curl -g -H 'Authorization: Bearer t_x' 'http");
});

Deno.test("the address of all interfaces is shown as one that a client can connect to", () => {
  assertStringIncludes(banner({ ...facts, host: "0.0.0.0" }), "'http://127.0.0.1:8123/");
  assertStringIncludes(banner({ ...facts, host: "::" }), "'http://[::1]:8123/");
});

Deno.test("more resources than fit on the screen are counted, and where they are listed is said", () => {
  const paths = Array.from({ length: 200 }, (_, index) => `/api/table_${index}`);
  const text = banner({ ...facts, paths });
  assert(text.split("\n").length < 50);
  assertStringIncludes(text, "  http://127.0.0.1:8123/api/table_29\n  … and 170 more");
  assertStringIncludes(text, "170 more: all are listed at http://127.0.0.1:8123/api/\n");
  const all = banner({ ...facts, paths: paths.slice(0, 30) });
  assert(!all.includes("more"), all);
});

Deno.test("a control character in a name does not reach the terminal", () => {
  assert(!banner({ ...facts, subject: "\u001b[2Jx.db" }).includes("\u001b"));
});

Deno.test("a shell takes a quoted text literally", async () => {
  for (const text of ["it's", '$HOME `id` \\ "x" !', "'", "''", "a\nb", ""]) {
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", `printf %s ${shellQuote(text)}`],
    }).output();
    assertEquals(new TextDecoder().decode(stdout), text);
  }
});
