import { type App, createApp } from "../../app/app.ts";
import { writeApiTypes } from "../../openapi/api_types.ts";
import { openapiYaml } from "../../openapi/openapi_yaml.ts";
import type { ServiceSchema } from "../../openapi/service_schema.ts";
import type { JsonSchema } from "../../protocol/route_description.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { requireConfiguration } from "../configuration_file.ts";
import { Failure } from "../printable.ts";
import type { DescribeCommand } from "../command_arguments.ts";

/** Returns 1 if the description differs from the file. */
export async function runDescribeCommand(command: DescribeCommand): Promise<number> {
  const text = await describe(command);
  const { check, form } = command;
  if (check === null) {
    await printAll(text);
    return 0;
  }
  const found = await readText(check);
  if (found === text) return 0;
  const fault = found === null ? "there is no such file" : "it differs from the service";
  console.error(`${check} is stale: ${fault}. Write it again with ${form} > ${check}`);
  return 1;
}

async function describe({ form, yaml, url, config, token }: DescribeCommand): Promise<string> {
  if (form === "types") {
    const schema = url === null
      ? await ofConfiguration(config, (app) => app.schema())
      : await fetchSchema(url, token);
    return writeApiTypes(schema);
  }
  const document = url === null
    ? await ofConfiguration(config, (app) => app.openapi())
    : await fetchDocument(url, token);
  return yaml ? openapiYaml(document) : `${JSON.stringify(document, null, 2)}\n`;
}

async function ofConfiguration<Description>(
  config: string | null,
  describe: (app: App) => Description,
): Promise<Description> {
  const runtime = systemRuntime(consoleObserver());
  const loaded = await requireConfiguration(config, "name a configuration or a URL");
  const app = await createApp({ runtime, ...loaded });
  try {
    return describe(app);
  } finally {
    await app.close();
  }
}

async function fetchSchema(base: string, token: string | null): Promise<ServiceSchema> {
  const { url, value } = await fetchJson(base, "/__service/schema", token);
  const isSchema = typeof value === "object" && value !== null && "version" in value &&
    value.version === 1 && "resources" in value && Array.isArray(value.resources);
  if (!isSchema) throw new Error(`Cannot read ${url}: it is not the schema of a service`);
  // The cast is safe: a service wrote the value, in version 1 of the format.
  return value as ServiceSchema;
}

async function fetchDocument(base: string, token: string | null): Promise<JsonSchema> {
  const { url, value } = await fetchJson(base, "/__service/openapi.json", token);
  if (typeof value === "object" && value !== null && "openapi" in value) return { ...value };
  throw new Error(`Cannot read ${url}: it is no OpenAPI document`);
}

async function fetchJson(base: string, path: string, token: string | null) {
  const url = base.endsWith(path) ? base : base.replace(/\/+$/, "") + path;
  const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers }).catch((cause: Error) => {
    throw new Failure(`Cannot reach ${url}: ${cause.message.split("): ").at(-1)}`, { cause });
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot read ${url}: the status is ${response.status}`);
  try {
    return { url, value: JSON.parse(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`Cannot read ${url}: it is not JSON`);
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Prints a whole string before the process exits: a pipe accepts a long string only in parts. */
async function printAll(text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await Deno.stdout.write(rest));
}
