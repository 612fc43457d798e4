import { nearestName } from "../../problem/nearest_name.ts";
import { either, groupOf, mapOf } from "../../options/option.ts";
import { off, textLike, whole } from "../../options/option_kinds.ts";

/** The options of the page that the service serves from the same origin as its API. */
export interface WebOptions {
  /** The folder that contains the built page, relative to the working directory. */
  readonly folder: string;
  /** The file for navigations to unknown paths. `false`: none. Default: `index.html`. */
  readonly spa?: string | false | undefined;
  /** Directives that replace those of the default policy. `false`: no policy. Default: none. */
  readonly csp?: Readonly<Record<string, string>> | false | undefined;
  /** How long browsers keep assets with a hash in their name, in seconds. Default: 31,536,000. */
  readonly maxAge?: number | undefined;
  /** The URL of Vite, which then serves the page. Not permitted in production. Default: none. */
  readonly dev?: string | undefined;
}

const directives: readonly string[] = [
  ...["base-uri", "child-src", "connect-src", "default-src", "font-src", "form-action"],
  ...["frame-ancestors", "frame-src", "img-src", "manifest-src", "media-src", "object-src"],
  ...["report-to", "report-uri", "require-trusted-types-for", "sandbox", "script-src"],
  ...["script-src-attr", "script-src-elem", "style-src", "style-src-attr", "style-src-elem"],
  ...["trusted-types", "upgrade-insecure-requests", "worker-src"],
];

function unknownDirective(given: object): string | undefined {
  return Object.keys(given).find((name) => !directives.includes(name));
}

const members = groupOf<WebOptions>()({
  folder: textLike('a folder, like "web/dist"', /./).required(),
  spa: either(textLike("the path of a file in the folder", /^[^/]/), off()).default("index.html"),
  csp: either(
    mapOf(textLike("sources like \"'self' https://cdn.example\"", /^[ -+\--:<-~]*$/).required())
      .fitting("an object of directives", (given) => unknownDirective(given) === undefined),
    off(),
  ).advising((given) => {
    const name = unknownDirective(Object(given));
    const near = name === undefined ? null : nearestName(name, directives);
    return name === undefined
      ? null
      : `has no directive "${name}"${near === null ? "" : `: did you mean "${near}"?`}`;
  }).default({}),
  maxAge: whole({ from: 0 }).default(31_536_000),
  dev: textLike('a URL, like "http://localhost:5173"', /^https?:\/\/[^/?#]+[^?#]*$/),
});

export const webOptionRule = either(textLike('a folder, like "web/dist"', /./), members);

export type ResolvedWeb = NonNullable<ReturnType<typeof resolveWeb>>;

export function resolveWeb(
  option: string | WebOptions | undefined,
  { basePath, isProduction }: { readonly basePath: string; readonly isProduction: boolean },
) {
  if (option === undefined) return null;
  const place = { subject: "Cannot start", path: "web" };
  const web = members.required().read(
    typeof option === "string" ? { folder: option } : option,
    place,
  );
  if (basePath === "") {
    throw new Error(
      'Cannot start: web needs a basePath, like "/api", because below "" every path is of the API',
    );
  }
  if (web.dev !== undefined && isProduction) {
    throw new Error(
      "Cannot start: web.dev is only for development: in production, serve the built page",
    );
  }
  return { ...web, dev: web.dev ?? null, reserved: [basePath, ...servicePaths] };
}

const servicePaths = ["/__service", "/healthz", "/readyz"] as const;
