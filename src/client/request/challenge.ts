import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import { powHeaders } from "../../protocol/pow_protocol.ts";
import type { CreateClientOptions } from "./client_options.ts";
import type { ServiceError } from "./service_error.ts";

export interface ChallengedRequest {
  readonly request: { readonly signal?: AbortSignal | undefined };
  readonly response: Response;
  readonly error: ServiceError;
  /** How often this request was sent before. */
  readonly attempts: number;
}

/**
 * Returns headers with the solution of the challenge in a 428. Throws the response's error if there
 * is no challenge, after too many attempts, or if this client cannot solve it.
 */
export async function solveChallenge(
  { error, response: { headers }, request: { signal }, attempts }: ChallengedRequest,
  { pow, captcha, captchaHeader = captchaHeaders.token }: CreateClientOptions,
): Promise<Readonly<Record<string, string>>> {
  const mayTry = attempts < (pow?.maxAttempts ?? 3);
  const token = headers.get(powHeaders.challenge);
  if (token !== null && mayTry && pow?.enabled !== false) {
    const solve = pow?.solve ?? (await import("../pow/find_nonce.ts")).findNonce;
    const difficulty = Number(headers.get(powHeaders.difficulty));
    const nonce = await solve({ token, difficulty }, { signal });
    return { [powHeaders.challenge]: token, [powHeaders.nonce]: nonce };
  }
  const provider = headers.get(captchaHeaders.provider);
  if (provider === null) throw error;
  const required = {
    provider,
    siteKey: headers.get(captchaHeaders.siteKey) ?? "",
    action: headers.get(captchaHeaders.action),
  };
  if (captcha !== undefined && mayTry) return { [captchaHeader]: await captcha(required) };
  throw Object.assign(error, { captcha: required });
}
