import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import { powHeaders } from "../../protocol/pow_protocol.ts";
import type { CreateClientOptions } from "./client_options.ts";
import type { ServiceError } from "./service_error.ts";

/**
 * The headers that answer the challenge of a refused request, proof of work or a CAPTCHA; null
 * where it has none that this client may solve. The solver of proofs of work is loaded here.
 */
export async function solveChallenge(
  error: ServiceError,
  headers: Headers,
  { pow = {}, captcha, captchaHeader = captchaHeaders.token }: CreateClientOptions,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>> | null> {
  const token = headers.get(powHeaders.challenge);
  if (error.slug === "proof-of-work-required" && token !== null && pow.enabled !== false) {
    const solve = pow.solve ?? (await import("../pow/solve.ts")).solve;
    const difficulty = Number(headers.get(powHeaders.difficulty));
    const nonce = await solve({ token, difficulty }, { signal });
    return { [powHeaders.challenge]: token, [powHeaders.nonce]: nonce };
  }
  if (error.captcha !== null && captcha !== undefined) {
    return { [captchaHeader]: await captcha(error.captcha) };
  }
  return null;
}
