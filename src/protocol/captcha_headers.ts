import { powHeaders } from "./proof_of_work.ts";

/** What a client and the service tell each other about CAPTCHAs. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  /** The one that a client sends, unless the service is configured to read another. */
  token: "service-captcha-token",
} as const;
