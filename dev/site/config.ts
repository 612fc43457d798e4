/**
 * The configuration of VitePress, which reads it from a copy in a temporary folder. Without
 * packages of its own, so that the project needs no VitePress to check this file.
 */
import { type RepositoryLinks, repositoryLinks } from "./links.ts";

/** The settings that `dev/site.ts` writes. */
export interface SiteSettings extends RepositoryLinks {
  readonly base: string;
  readonly outDir: string;
  readonly version: string;
  readonly sidebar: readonly unknown[];
}

// `dev/site.ts` has written the file.
const settings = JSON.parse(Deno.readTextFileSync(`${Deno.cwd()}/site.json`)) as SiteSettings;

/** Opens a page that VitePress has not built. */
const reference = { text: "API reference", link: "/reference/index.html", target: "_self" };

export default {
  title: "resource-api",
  description: "A live HTTP API for the tables of SQLite and Postgres",
  lang: "en",
  // Without an icon of a page, a browser asks the host for one.
  head: [["link", { rel: "icon", href: "data:," }]],
  base: settings.base,
  srcDir: "pages",
  outDir: settings.outDir,
  appearance: true,
  markdown: {
    html: false,
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: githubSlug },
    toc: { slugify: githubSlug },
    headers: { slugify: githubSlug },
    // The copy of a page has the languages of its original, some of which VitePress does not know.
    languageAlias: { caddy: "txt", haproxy: "txt" },
    config: (markdown: Parameters<typeof repositoryLinks>[0]) =>
      repositoryLinks(markdown, settings),
  },
  themeConfig: {
    nav: [
      { text: "Documentation", link: "/documentation" },
      { text: "Configuration", link: "/configuration/" },
      { text: "Contracts", link: "/contracts/" },
      reference,
      { text: settings.version, link: "/changelog" },
    ],
    sidebar: settings.sidebar.concat({ text: "Code", items: [reference] }),
    outline: { level: [2, 3], label: "On this page" },
    search: { provider: "local" },
    docFooter: { prev: "Previous", next: "Next" },
  },
  vite: {
    // The theme can show advertisements, whose script another host would serve.
    resolve: { alias: [{ find: /^.*\/VPCarbonAds\.vue$/, replacement: "vue" }] },
    build: { chunkSizeWarningLimit: 4_000 },
  },
};

/** Returns the anchor of a heading, as GitHub makes it: links in documents use these anchors. */
function githubSlug(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
}
