import { ServiceError } from "../../exports/client.ts";
import { CallError } from "../service/call.ts";

/** Says in words why something failed. */
export function Problem({ error, what }: { readonly error: Error; readonly what?: string }) {
  return (
    <p class="problem" role="alert">
      {what && <strong>{`${what}: `}</strong>}
      {messageOf(error)}
    </p>
  );
}

/** What an error says, with its status where there is one. */
export function messageOf(error: Error): string {
  if (error instanceof ServiceError) {
    if (error.slug === "network") return "The service does not answer";
    return error.status > 0 ? `${error.message} (${error.status})` : error.message;
  }
  if (error instanceof CallError && error.status > 0) return `${error.message} (${error.status})`;
  return error.message;
}
