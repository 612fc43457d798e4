import { assertEquals } from "@std/assert";
import { brokenLinks, foreignRequests } from "../../dev/site/check_site.ts";
import { pagePath, readNavigation, sourcesOf } from "../../dev/site/navigation.ts";
import { adaptPage } from "../../dev/site/reference.ts";
import { root } from "./module_graph.ts";

const read = (source: string) => Deno.readTextFileSync(root + source);

Deno.test("every page of docs/ is once in the navigation of the site", () => {
  const listed = ["docs/README.md", ...sourcesOf(readNavigation(read))];
  const pages = markdownFiles("docs");
  assertEquals(pages.length > 100, true, "pages are found");
  assertEquals(listed.filter((page) => page.startsWith("docs/")).sort(), pages.sort());
  const paths = listed.map(pagePath);
  assertEquals(paths.filter((path, index) => paths.indexOf(path) !== index), []);
});

Deno.test("the navigation has the sections, groups and folders of the lists, each page once", () => {
  const documents: Record<string, string> = {
    "docs/README.md": "# D\n\n## Start\n\n- [Front](../README.md): x\n\n## Guides\n\nData:\n\n" +
      "- [A `b`](a.md): of [c](c.md)\n- [Folder](folder/README.md)\n",
    "docs/folder/README.md": "| [One](one.md) | 1 |\n- [A](../a.md)\n- [Heading](#here)\n",
  };
  assertEquals(readNavigation((source) => documents[source] ?? ""), [
    { text: "Start", entries: [{ text: "Front", source: "README.md", entries: [] }] },
    {
      text: "Guides",
      entries: [{
        text: "Data",
        entries: [
          { text: "A b", source: "docs/a.md", entries: [] },
          {
            ...{ text: "Folder", source: "docs/folder/README.md" },
            entries: [{ text: "One", source: "docs/folder/one.md", entries: [] }],
          },
        ],
      }],
    },
  ]);
});

Deno.test("a guide says in its first sentence who it is for", () => {
  const guides = markdownFiles("docs/guides");
  assertEquals(guides.length > 0, true, "guides are found");
  const isFor = /^# .+\n\nThis guide is for \w+ (?:with|who) /;
  assertEquals(guides.filter((guide) => !isFor.test(read(guide))), []);
});

Deno.test("the site's check finds links to missing pages and anchors, and links outside of its base", () => {
  const files = new Map([
    ["index.html", '<a href="/d/a.html#x">1</a> <a class="l" href="gone.html">2</a>'],
    ["a.html", '<h2 id="x">a</h2> <a href="#y">3</a> <a href="/a.html">4</a> <a href="./">5</a>'],
    ["b.html", '<a href=".&#x2F;a.html">6</a> <a href="https://example.com/">7</a>'],
  ]);
  assertEquals(brokenLinks(files, "/d/"), [
    "index.html has a broken link: gone.html",
    "a.html has a broken link: #y",
    "a.html has a broken link: /a.html",
  ]);
});

Deno.test("the site's check finds scripts, styles, fonts and pictures of other hosts", () => {
  const files = new Map([
    [
      "a.html",
      '<script src="//cdn.example/a"></script><link href="https:&#x2F;&#x2F;e.x/b"><img src="c.svg">' +
      '<style>@import "https://e.x/i";</style><a href="https://e.x/link.js">link</a>',
    ],
    ["b.css", '@import "https://e.x/d"; p { background: url(data:x), url("http://e.x/e.woff2") }'],
    ["c.js", 's.src = "//cdn.example/f.js?g"; import("https://e.x/h"); a = "https://e.x/page"'],
  ]);
  assertEquals(foreignRequests(files).map((fault) => fault.split(" loads ")[1]).sort(), [
    "//cdn.example/a",
    "//cdn.example/f.js",
    "http://e.x/e.woff2",
    "https://e.x/b",
    "https://e.x/d",
    "https://e.x/h",
    "https://e.x/i",
  ]);
});

Deno.test("a page of the reference has no path of the machine, and names the package", () => {
  const html =
    '<a\n class="sourceButton"\n href="file:&#x2F;&#x2F;&#x2F;r&#x2F;src&#x2F;a.ts">S</a>' +
    '<a href="#type_param_k" class="l">K</a><a href="#type_param_t">T</a><b id="type_param_t"></b>' +
    "<h3>Usage</h3><b>import { a } from &quot;kv&quot;;</b></button> from &quot;kv&quot;";
  const links = { root: "/r/", home: "../", specifiers: new Map([["kv", "@a/b/kv"]]) };
  const rest = 'K<a href="#type_param_t">T</a><b id="type_param_t"></b>' +
    "<h3>Usage</h3><b>import { a } from &quot;@a/b/kv&quot;;</b></button> from &quot;kv&quot;";
  assertEquals(adaptPage(html, { ...links, repository: null }), rest);
  assertEquals(
    adaptPage(html, { ...links, repository: "https://f.x/blob" }),
    `<a\n class="sourceButton"\n href="https://f.x/blob/src&#x2F;a.ts">S</a>${rest}`,
  );
});

function markdownFiles(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? markdownFiles(path) : path.endsWith(".md") ? [path] : [];
  });
}
