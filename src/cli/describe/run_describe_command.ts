import { createApp } from "../../app.ts";
import { writeApiTypes } from "../../openapi/api_types.ts";
import type { ServiceSchema } from "../../openapi/service_schema.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { findConfiguration, loadConfiguration } from "../configuration_file.ts";
import type { DescribeCommand } from "./describe_arguments.ts";
import { reportFailure } from "../report_failure.ts";

/**
 * Runs a command that writes a description of a service, or compares a file with it; returns the
 * exit code, which is 1 for a file that differs.
 */
export async function runDescribeCommand(command: DescribeCommand): Promise<number> {
  let text: string;
  try {
    text = writeApiTypes(await schemaOf(command));
  } catch (error) {
    return reportFailure(error, 2);
  }
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

async function schemaOf({ url, config, token }: DescribeCommand): Promise<ServiceSchema> {
  if (url !== null) return await fetchSchema(url, token);
  const path = config ?? await findConfiguration();
  if (path === null) {
    throw new Error("There is no service.config.ts here: name a configuration or a URL");
  }
  const runtime = systemRuntime(consoleObserver());
  const app = await createApp({ runtime, ...await loadConfiguration(path) });
  try {
    return app.schema();
  } finally {
    await app.close();
  }
}

async function fetchSchema(base: string, token: string | null): Promise<ServiceSchema> {
  const path = "/__service/schema";
  const url = base.endsWith(path) ? base : base.replace(/\/+$/, "") + path;
  const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers }).catch((cause) => {
    throw new Error(`Cannot reach ${url}`, { cause });
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot read ${url}: the status is ${response.status}`);
  const schema = parseSchema(text);
  if (schema === null) throw new Error(`Cannot read ${url}: it is not the schema of a service`);
  return schema;
}

function parseSchema(text: string): ServiceSchema | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const isSchema = typeof value === "object" && value !== null && "version" in value &&
    value.version === 1 && "resources" in value && Array.isArray(value.resources);
  // The version says that the rest has the form of this program's own.
  return isSchema ? value as ServiceSchema : null;
}

async function readText(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** A pipe takes a part of a long text at a time, and the process exits after this. */
async function printAll(text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await Deno.stdout.write(rest));
}
