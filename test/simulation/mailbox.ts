import { Violation } from "./violation.ts";

/** What somebody needs who wants to send a signal. */
export interface Address {
	executionId: string;
	waitpointId: string;
	key: string;
	token: string;
}

const MOST_KEPT = 40;

/** The tokens that were given out, in the hands of those who send signals; newest last. */
export class Mailbox {
	readonly addresses: Address[] = [];
	/** The token of a waitpoint, by waitpoint and key that signed it. */
	readonly #tokens = new Map<string, string>();
	readonly #owners = new Map<string, string>();
	/** Told of a token that nobody had before, and of how long is waited for what it is good for. */
	onNew: ((address: Address, timeoutMs: number | undefined) => void) | undefined;

	/** A token was given out. It follows from its waitpoint, so it is the same every time until keys are rotated. */
	add(address: Address, timeoutMs?: number): void {
		const { waitpointId, token } = address;
		const name = `${waitpointId} ${token.slice(0, token.indexOf("."))}`;
		const known = this.#tokens.get(name);
		if (known !== undefined && known !== token) throw new Violation(`${waitpointId} was given two tokens by one key`);
		const owner = this.#owners.get(token);
		if (owner !== undefined && owner !== waitpointId)
			throw new Violation(`${waitpointId} was given the token of ${owner}`);
		if (known !== undefined) return;
		this.#tokens.set(name, token);
		this.#owners.set(token, waitpointId);
		this.addresses.push(address);
		if (this.addresses.length > MOST_KEPT) this.addresses.shift();
		this.onNew?.(address, timeoutMs);
	}

	/** The waitpoint that a token was given out for. */
	ownerOf(token: string): string | undefined {
		return this.#owners.get(token);
	}
}
