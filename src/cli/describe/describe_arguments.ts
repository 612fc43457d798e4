import { configOption, Misuse, readCommandWords } from "../command_options.ts";

export type DescribeCommand = ReturnType<typeof parseDescribeArguments>;

/** A description: TypeScript declarations or an OpenAPI document. */
export type DescriptionForm = "types" | "openapi";

export const describeHelp =
  `Descriptions of service.config.ts, of another configuration FILE, or of the service at a URL:
  types [FILE | URL] [--token TOKEN]    TypeScript declarations, on the standard output
  types [FILE | URL] --check API.D.TS   1 where this file differs from them
  openapi [FILE | URL] [--yaml]         the OpenAPI document, likewise with --token and --check`;

/** Parses the arguments of `types` or `openapi`. Throws a {@link Misuse}. */
export function parseDescribeArguments(form: DescriptionForm, args: readonly string[]) {
  const words = readCommandWords(form, args, {
    config: configOption,
    token: { type: "string" },
    check: { type: "string" },
    ...(form === "openapi" ? { yaml: { type: "boolean" } as const } : {}),
  });
  const [source, extra] = words.positionals;
  const config = words.text("config");
  if (extra !== undefined) {
    throw new Misuse(`${form} takes one file or URL: "${extra}" is too much`);
  }
  if (source !== undefined && config !== null) {
    throw new Misuse(`${form} takes "${source}" or --config, not both`);
  }
  const isUrl = source !== undefined && /^https?:\/\//i.test(source);
  if (isUrl && URL.parse(source) === null) throw new Misuse(`${form}: "${source}" is no URL`);
  if (source !== undefined && !isUrl && !/\.[cm]?[jt]s$/i.test(source)) {
    throw new Misuse(
      `${form} takes a configuration or the URL of a service, not "${source}": ` +
        "start the service of a database, and give its URL",
    );
  }
  const token = words.text("token");
  if (token !== null && !isUrl) throw new Misuse(`${form} takes --token with a URL only`);
  return {
    kind: "describe" as const,
    form,
    yaml: words.flag("yaml"),
    url: isUrl ? source : null,
    config: isUrl ? null : source ?? config,
    token,
    check: words.text("check"),
  };
}
