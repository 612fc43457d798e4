import { readCommandWords, stringOption } from "../command_options.ts";

/** The arguments of a command that prints a description of a service. */
export interface DescribeCommand {
  readonly kind: "describe";
  readonly form: DescriptionForm;
  /** True if the command prints YAML instead of JSON. */
  readonly yaml: boolean;
  /** The URL of a running service, or null if the option `--url` is missing. */
  readonly url: string | null;
  /** The path of a configuration file, or null for the file in the current folder. */
  readonly config: string | null;
  /** The bearer token for requests to the URL, or null to send no token. */
  readonly token: string | null;
  /** The file to compare with the description, or null to print the description. */
  readonly check: string | null;
}

/** The form of a description: TypeScript declarations or an OpenAPI document. */
export type DescriptionForm = "types" | "openapi";

/** The section of `--help` about descriptions. */
export const describeHelp =
  `Descriptions of service.config.ts, of another configuration FILE, or of the service at a URL:
  types [FILE | URL] [--token TOKEN]    TypeScript declarations, on the standard output
  types [FILE | URL] --check API.D.TS   1 where this file differs from them
  openapi [FILE | URL] [--yaml]         the OpenAPI document, likewise with --token and --check`;

/** Returns true if the command line starts with a command for descriptions. */
export function isDescribeCommand([first]: readonly string[]): boolean {
  return first === "types" || first === "openapi";
}

/** Parses the arguments of a command for descriptions. Never throws. */
export function parseDescribeArguments(
  [form, ...args]: readonly string[],
): DescribeCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault(form ?? "");
  if (fault !== null) return misused(fault);
  const [source, extra] = positionals;
  const config = stringOption(values.config);
  if (extra !== undefined) return misused(`${form} takes one file or URL: "${extra}" is too much`);
  if (source !== undefined && config !== null) {
    return misused(`${form} takes "${source}" or --config, not both`);
  }
  const isUrl = source !== undefined && /^https?:\/\//i.test(source);
  if (isUrl && URL.parse(source) === null) return misused(`${form}: "${source}" is no URL`);
  if (source !== undefined && !isUrl && !/\.[cm]?[jt]s$/i.test(source)) {
    return misused(
      `${form} takes a configuration or the URL of a service, not "${source}": ` +
        "start the service of a database, and give its URL",
    );
  }
  if (form !== "openapi" && values.yaml === true) return misused(`${form} has no option --yaml`);
  const token = stringOption(values.token);
  if (token !== null && !isUrl) return misused(`${form} takes --token with a URL only`);
  return {
    kind: "describe",
    form: form === "openapi" ? "openapi" : "types",
    yaml: values.yaml === true,
    url: isUrl ? source : null,
    config: isUrl ? null : source ?? config,
    token,
    check: stringOption(values.check),
  };
}

const options = {
  config: { type: "string", short: "c" },
  token: { type: "string" },
  check: { type: "string" },
  yaml: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

function misused(message: string): { readonly kind: "misused"; readonly message: string } {
  return { kind: "misused", message };
}
