/** Rules of markdown-it for documents that were written for a page of a forge. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path/posix";

/** The files that a link of a page can lead to. */
export interface RepositoryLinks {
  /** The folder of the repository. */
  readonly root: string;
  /** The URL below which the files of the repository are, or null. */
  readonly repository: string | null;
  /** The path in the site by Markdown file. */
  readonly pages: Readonly<Record<string, string>>;
}

/** The members of a token of markdown-it that the rules need. */
interface Token {
  type: string;
  tag: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
  attrs: [string, string][] | null;
}

interface BlockState {
  readonly tokens: Token[];
  readonly env: { readonly relativePath: string };
}

interface InlineState {
  readonly src: string;
  pos: number;
}

/** The members of markdown-it that the rules need. */
interface Markdown {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: BlockState) => void): void;
      disable(name: string, ignoreInvalid: boolean): unknown;
    };
  };
  readonly inline: {
    readonly ruler: { push(name: string, rule: (state: InlineState) => boolean): void };
  };
  readonly renderer: {
    readonly rules: { text?: (tokens: readonly Token[], index: number) => string };
  };
  readonly utils: { escapeHtml(text: string): string };
}

/**
 * Makes links to pages lead to pages of the site, and links to other files to the repository.
 * Without a URL of the repository, the text of such a link remains, with the path as its title.
 */
export function repositoryLinks(markdown: Markdown, links: RepositoryLinks): void {
  // `:id:` in a document is no emoji, and a comment in HTML marks a generated value.
  markdown.core.ruler.disable("emoji", true);
  markdown.inline.ruler.push("comment", skipComment);
  markdown.renderer.rules.text = (tokens, index) =>
    // Vue would evaluate an expression in double braces.
    markdown.utils.escapeHtml(tokens[index]?.content ?? "").replaceAll("{{", "&#123;&#123;");
  const sources = Object.fromEntries(Object.entries(links.pages).map(([from, to]) => [to, from]));
  markdown.core.ruler.push("repository_links", ({ tokens, env }) => {
    const source = sources[env.relativePath];
    if (source === undefined) throw new Error(`${env.relativePath} is no page of the navigation`);
    for (const { children } of tokens) if (children !== null) resolve(children, source, links);
  });
}

function skipComment(state: InlineState): boolean {
  if (!state.src.startsWith("<!--", state.pos)) return false;
  const end = state.src.indexOf("-->", state.pos);
  if (end < 0) return false;
  state.pos = end + "-->".length;
  return true;
}

function resolve(tokens: readonly Token[], source: string, links: RepositoryLinks): void {
  /** True in a link without a target. */
  let isText = false;
  for (const token of tokens) {
    if (token.type === "link_close" && isText) {
      Object.assign(token, { type: "file_close", tag: "span" });
      isText = false;
    }
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    if (href === null || /^(?:[a-z]+:|#)/.test(href)) continue;
    const [target = "", anchor] = href.split("#");
    const path = decodeURI(join(dirname(source), target));
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    const page = links.pages[path];
    if (page !== undefined) {
      token.attrSet("href", `/${page}${suffix}`);
    } else if (!existsSync(join(links.root, path))) {
      throw new Error(`${source} links to ${href}, and there is no file ${path}`);
    } else if (links.repository !== null) {
      token.attrSet("href", `${links.repository}/${path}${suffix}`);
    } else {
      Object.assign(token, { type: "file_open", tag: "span", attrs: [] });
      token.attrSet("class", "repository-file");
      token.attrSet("title", path);
      isText = true;
    }
  }
}
