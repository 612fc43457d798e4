/** Adapts the pages that `deno doc --html` writes to the site. */

/** The places that links of the reference lead to. */
export interface ReferenceLinks {
  /** The folder of the repository. */
  readonly root: string;
  /** The URL below which the files of the repository are, or null. */
  readonly repository: string | null;
  /** The relative URL of the folder that contains the site's front page. */
  readonly home: string;
  /** The specifiers of imports, such as `@svc/resource-api/client`, by module, such as `client`. */
  readonly specifiers: ReadonlyMap<string, string>;
}

/** Corrections of the style: without them, pages are wider than a narrow window. */
const style = `
.ddoc > div:not(#categoryPanel), #content > main { min-width: 0 }
#content > main { overflow-x: auto }
@media (width < 640px) {
  #searchbar { min-width: 0; width: 6rem }
  #topnav { height: auto }
  #topnav .breadcrumbs * { font-size: 1rem }
}
`;

/** Adapts the reference in a folder, and adds a list of the modules to its first page. */
export async function adaptReference(folder: string, links: ReferenceLinks): Promise<void> {
  await adaptPages(folder, links);
  await Deno.writeTextFile(`${folder}/page.css`, style, { append: true });
  const items = [...links.specifiers].map(([module, specifier]) => {
    const path = module === "." ? "all_symbols.html" : `${module}/index.html`;
    return `<a class="contextLink" href="${path}"><code>${specifier}</code></a>`;
  });
  const index = await Deno.readTextFile(`${folder}/index.html`);
  if (!index.includes("<main>")) throw new Error("deno doc has written no <main>");
  await Deno.writeTextFile(
    `${folder}/index.html`,
    index.replace("<main>", `$&<p>Modules: ${items.join(", ")}</p>`),
  );
}

/** Rewrites all pages in a folder of the reference, and in the folders below. */
async function adaptPages(folder: string, links: ReferenceLinks): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) await adaptPages(path, { ...links, home: `../${links.home}` });
    else if (name.endsWith(".html")) {
      await Deno.writeTextFile(path, adaptPage(await Deno.readTextFile(path), links));
    }
  }
}

/**
 * Adds a link to the documentation. A link to a source leads to the repository or is removed,
 * because `deno doc` writes the path of this machine. A link to a type parameter of a mapped type
 * becomes text: `deno doc` writes such links without their targets. An import has the name of the
 * package, and not only the name of the module.
 */
export function adaptPage(html: string, links: ReferenceLinks): string {
  const { root, repository, home, specifiers } = links;
  const source = `file://${root}`.replaceAll("/", "&#x2F;");
  return html
    // Without an icon of a page, a browser asks the host for one.
    .replace("</head>", '<link rel="icon" href="data:,">$&')
    .replace(
      '<ul class="breadcrumbs">',
      `$&<li><a href="${home}index.html" class="contextLink">Documentation</a></li>` +
        '<span class="text-black dark:text-white">/</span>',
    )
    .replaceAll(
      /<a\s+class="sourceButton"\s+href="([^"]*)"[^>]*>.*?<\/a>/gs,
      (link, href) =>
        repository === null ? "" : link.replace(href, href.replace(source, `${repository}/`)),
    )
    .replaceAll(
      /<a href="#(type_param_\w+)"[^>]*>(.*?)<\/a>/gs,
      (link, id, text) => html.includes(`id="${id}"`) ? link : text,
    )
    .replaceAll(
      /<h3>Usage<\/h3>.*?<\/button>/gs,
      (usage) =>
        usage.replaceAll(
          / from &quot;([\w.-]+)&quot;/g,
          (_, module) => ` from &quot;${specifiers.get(module) ?? module}&quot;`,
        ),
    );
}
