import { type Described, either, group, listOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";

/** The options of MCP, the protocol by which language models use the service. */
export interface McpOptions {
  /** True to offer tools that write, delete and call procedures. Default: false. */
  readonly write?: boolean | undefined;
  /** Host names under which clients reach the service, besides the names of this machine. */
  readonly hosts?: readonly string[] | undefined;
}

const members = {
  write: flag().default(false),
  hosts: listOf("names of hosts", textLike('a host like "api.example.com"', /^[\w.:[\]-]+$/))
    .default([]),
} satisfies Described<McpOptions>;

export const mcpOptionRule = either(flag(), group(members)).default(false);

export interface ResolvedMcp {
  readonly write: boolean;
  readonly hosts: readonly string[];
}

export function resolveMcp(option: boolean | ResolvedMcp): ResolvedMcp | null {
  if (option === false) return null;
  return option === true ? { write: false, hosts: [] } : option;
}
