import { createHash } from "node:crypto";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { escapeHtml } from "../../src/protocol/escape_html.ts";
import { problemCode, problemCodes, problemTypeBase } from "../../src/protocol/problem_codes.ts";
import { futureProblems } from "../../src/protocol/problem_explanations.ts";
import { pageSecurityPolicy } from "../../src/protocol/html_page.ts";
import { problemIndexPage, problemPage } from "../../src/service/service_pages.ts";

Deno.test("every problem has a page with its title, status and code, and is in the index", () => {
  const index = problemIndexPage();
  for (const [slug, { status, title }] of Object.entries(problemCodes)) {
    const page = problemPage(slug);
    assert(page !== null, slug);
    assertStringIncludes(page, `<h1>${escapeHtml(title)}</h1>`);
    assertStringIncludes(page, `<dd>${status}</dd>`);
    // `entries` widens the keys of the table to string.
    assertStringIncludes(page, problemCode(slug as keyof typeof problemCodes));
    assertStringIncludes(index, `href="${problemTypeBase}${slug}"`);
  }
});

Deno.test("the page of a problem that is still to come says so", () => {
  const toCome: ReadonlySet<string> = futureProblems;
  for (const slug of Object.keys(problemCodes)) {
    const isSaid = problemPage(slug)?.includes("Not answered by this version yet.");
    assertEquals([slug, isSaid], [slug, toCome.has(slug)]);
  }
});

Deno.test("a slug that names no problem has no page", () => {
  for (const slug of ["", "nothing", "constructor", "__proto__", "../not-found"]) {
    assertEquals(problemPage(slug), null, slug);
  }
});

Deno.test("the policy of the pages allows their own style sheet and nothing else", () => {
  for (const page of [problemIndexPage(), problemPage("conflict") ?? ""]) {
    const [, style = ""] = /<style>([^]*)<\/style>/.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    assertStringIncludes(pageSecurityPolicy, `style-src 'sha256-${hash}'`);
    assert(!/<script| style=| on\w+=/.test(page));
  }
  assertStringIncludes(pageSecurityPolicy, "default-src 'none'");
});
