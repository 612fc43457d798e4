import { type Described, either, group, listOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";

/** The options of MCP, through which programs of language models use the service. */
export interface McpOptions {
  /** Lets tools write, delete and call procedures within the caller's rights. Default: off. */
  readonly write?: boolean | undefined;
  /** Host names of the service, in addition to the loopback. */
  readonly hosts?: readonly string[] | undefined;
}

const members = {
  write: flag().default(false),
  hosts: listOf("names of hosts", textLike('a host like "api.example.com"', /^[\w.:[\]-]+$/))
    .default([]),
} satisfies Described<McpOptions>;

/** The description of the option `mcp`. */
export const mcpOption = either(flag(), group(members)).default(false);

/** The options of MCP with their defaults. */
export interface ResolvedMcp {
  readonly write: boolean;
  readonly hosts: readonly string[];
}

/** Resolves the option `mcp`; null if it is off. */
export function resolveMcp(option: boolean | ResolvedMcp): ResolvedMcp | null {
  if (option === false) return null;
  return option === true ? { write: false, hosts: [] } : option;
}
