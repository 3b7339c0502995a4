import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { Keyring } from "./keyring.ts";

/** What a token is about; one that was signed for anything else does not open it. */
export interface TokenSubject {
	executionId: string;
	waitpointId: string;
	waitpointKey: string;
	createdAt: number;
	/** 0 for none. */
	expiresAt: number;
}

export interface SignedToken {
	/** `<kid>.<base64url HMAC-SHA256>`; never to be logged, listed or stored. */
	token: string;
	kid: string;
	/** What may be shown of it: the first 16 hex digits of its SHA-256. */
	fingerprint: string;
}

/** `expired` for one that is genuine, by a key whose grace is over. */
export type TokenVerdict = "valid" | "expired" | "invalid";

/** Stands for a target that is not there, so that as much is worked out for it as for one that is. */
const NOBODY: TokenSubject = {
	executionId: `ex_${"0".repeat(32)}_0`,
	waitpointId: `wp_${"0".repeat(32)}_0`,
	waitpointKey: "nobody",
	createdAt: 1,
	expiresAt: 0,
};

/** The tokens of waitpoints. They follow from their subject and a key, so none is kept anywhere. */
export class WaitpointTokens {
	readonly #keyring: Keyring;
	readonly #publicUrl: string;
	/** Stands for a key that is not there. Nobody knows it, so nothing fits it. */
	readonly #decoy: KeyObject = createSecretKey(randomBytes(32));

	/** `publicUrl` is where outsiders reach this server, without a slash at its end; empty when nobody has said. */
	constructor(keyring: Keyring, publicUrl: string) {
		this.#keyring = keyring;
		this.#publicUrl = publicUrl;
	}

	async sign(subject: TokenSubject): Promise<SignedToken> {
		return (await this.signer())(subject);
	}

	/** Signs many at once with the key that is current now. */
	async signer(): Promise<(subject: TokenSubject) => SignedToken> {
		const { kid, secret } = await this.#keyring.current();
		return (subject) => {
			const token = `${kid}.${mac(secret, subject)}`;
			return { token, kid, fingerprint: digest(token).toString("hex", 0, 8) };
		};
	}

	/**
	 * Does the same whether the target is there or not (then `subject` is undefined) and whether the kid is known or not:
	 * neither the answer nor the time it takes tells more than that the token is no good.
	 */
	async verify(subject: TokenSubject | undefined, token: string): Promise<TokenVerdict> {
		const kid = token.slice(0, Math.max(0, token.indexOf(".")));
		const key = await this.#keyring.find(kid);
		const expected = `${kid}.${mac(key?.secret ?? this.#decoy, subject ?? NOBODY)}`;
		// Digests are of one length, so the comparison tells nothing of the length of either.
		const isGenuine = timingSafeEqual(digest(token), digest(expected));
		if (!isGenuine || !key || !subject) return "invalid";
		return key.isExpired() ? "expired" : "valid";
	}

	/** Where an outsider sends an answer; a path alone unless it was said where outsiders reach this server. */
	callbackUrl(waitpointId: string, token: string): string {
		return `${this.#publicUrl}/v1/callbacks/${waitpointId}?token=${encodeURIComponent(token)}`;
	}
}

/** A list as JSON can be read in one way only, so no two subjects are signed alike. */
function mac(secret: KeyObject, subject: TokenSubject): string {
	const { executionId, waitpointId, waitpointKey, createdAt, expiresAt } = subject;
	const text = JSON.stringify([executionId, waitpointId, waitpointKey, createdAt, expiresAt]);
	return createHmac("sha256", secret).update(text).digest("base64url");
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
