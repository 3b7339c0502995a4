import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import type { RotateSecretRequest } from "../../contract/keys.ts";
import type { Kernel, OutcomeOf } from "../../kernel/kernel.ts";
import { isKid, isWhole, KEYRING_KEY, type KeyringRecord } from "../../kernel/records/keyring.ts";
import type { FaultClass } from "../fault-log.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { corruptRecord } from "../partition/unreadable.ts";

export interface KeyringOptions {
	/** The runner of the partition the ring lives in. */
	runner: PartitionRunner;
	kernel: Kernel;
	clock: Clock;
	/** What signs if the store has no ring yet, as hex digits; drawn when left out. */
	secretHex?: string | undefined;
	/** How long what a key signed is taken after another took its place. */
	graceMs: number;
	/** Random hex digits, given by the simulator. */
	randomHex?: ((bytes: number) => string) | undefined;
	/** Says something to the other engines on the store. */
	say(text: string): void;
	onFault(about: FaultClass, error?: unknown, subject?: string): void;
}

/** A key as it is used. */
export interface TokenKey {
	readonly kid: string;
	readonly secret: KeyObject;
	/** Whether what it signed is no longer taken. */
	isExpired(): boolean;
}

interface Ring {
	current: TokenKey;
	byKid: ReadonlyMap<string, TokenKey>;
}

type Rotated = Extract<OutcomeOf<"rotateSecret">, { ok: true }>;

const SECRET_BYTES = 32;
/** Whoever hears it reads the ring anew. */
const CHANGED = "keyring changed";
/** How often kids nobody knows may make this engine read the ring: whoever invents some gains nothing by it. */
const UNKNOWN_KID_MS = 1000;
/** A ring that is in use is read again after so long, should nobody have been heard to change it. */
const OLD_AFTER_MS = 10_000;

/**
 * The store's keyring as this engine knows it. It is read when it is first used, when another engine says that it has changed,
 * when notices may have been missed, when a token names a kid that is not in it, and when it was read long ago. So a
 * rotation counts here at once, and tokens cost no reads.
 */
export class Keyring {
	readonly #options: KeyringOptions;
	#ring: Ring | undefined;
	#readAt = Number.NEGATIVE_INFINITY;
	/** How often it was said to have changed, and how many of these the ring in memory has seen. */
	#changes = 1;
	#seen = 0;
	#reading: Promise<void> | undefined;
	/** When a kid that is in no ring last made this engine read. */
	#fruitlessAt = Number.NEGATIVE_INFINITY;
	#isRotating = false;

	constructor(options: KeyringOptions) {
		this.#options = options;
	}

	/** Sees to it that there is a ring. An engine that cannot starts all the same, and tries again when it is needed. */
	async start(): Promise<void> {
		try {
			await this.#install();
		} catch (error) {
			this.#options.onFault("the keyring could not be read", error);
		}
	}

	/** The key that signs. */
	async current(): Promise<TokenKey> {
		return (await this.#fresh()).current;
	}

	/** The key of this name, if the store has one. */
	async find(kid: string): Promise<TokenKey | undefined> {
		const known = (await this.#fresh()).byKid.get(kid);
		return known ?? (isKid(kid) ? this.#findAnew(kid) : undefined);
	}

	/** Makes another key the current one; one such call at a time. */
	async rotate(request: RotateSecretRequest): Promise<Rotated> {
		if (this.#isRotating) {
			throw new FlowFabricError("too_many_requests", {
				message: "another rotation is under way",
				details: { pool: "admin_rotate", max: 1 },
			});
		}
		this.#isRotating = true;
		try {
			return await this.#rotate(request);
		} finally {
			this.#isRotating = false;
		}
	}

	async #rotate(request: RotateSecretRequest): Promise<Rotated> {
		const { runner, graceMs, say } = this.#options;
		// A ring that is torn is mended first: its current key is the one that gets a grace.
		await this.#fresh();
		const outcome = await runner.run({
			op: "rotateSecret",
			drawnSecretHex: this.#draw(),
			graceMs,
			...(request.kid === undefined ? undefined : { kid: request.kid }),
			...(request.secretHex === undefined ? undefined : { secretHex: request.secretHex.toLowerCase() }),
		});
		this.doubt();
		if (!outcome.ok) throw refusalError(outcome);
		say(CHANGED);
		return outcome;
	}

	/** Another engine, or this one, said something. */
	hear(text: string): void {
		if (text === CHANGED) this.doubt();
	}

	/** It may have changed. */
	doubt(): void {
		this.#changes += 1;
	}

	/**
	 * Made up kids are as many as somebody likes, so they cause a read a second and no more. One that was missed for that
	 * reason would have to be signed, sent and received before the rotation itself was heard of.
	 */
	async #findAnew(kid: string): Promise<TokenKey | undefined> {
		const { clock } = this.#options;
		if (clock.monotonic() - this.#fruitlessAt >= UNKNOWN_KID_MS) {
			this.#fruitlessAt = clock.monotonic();
			this.doubt();
		}
		const found = (await this.#fresh()).byKid.get(kid);
		if (found) this.#fruitlessAt = Number.NEGATIVE_INFINITY;
		return found;
	}

	/** The ring as it is now, as far as anybody has been heard. */
	async #fresh(): Promise<Ring> {
		for (;;) {
			const isOld = this.#options.clock.monotonic() - this.#readAt >= OLD_AFTER_MS;
			if (this.#ring && this.#seen === this.#changes && !isOld) return this.#ring;
			// Those who come meanwhile share it; what is said to have changed after it began is read again.
			this.#reading ??= this.#read().finally(() => {
				this.#reading = undefined;
			});
			await this.#reading;
		}
	}

	async #read(): Promise<void> {
		const changes = this.#changes;
		const readAt = this.#options.clock.monotonic();
		let record = await this.#stored();
		if (!record || !isWhole(record)) {
			await this.#install();
			record = await this.#stored();
		}
		if (!record || !isWhole(record)) throw corruptRecord(KEYRING_KEY, new Error("has no key that can sign"));
		this.#ring = this.#usable(record);
		this.#seen = changes;
		this.#readAt = readAt;
	}

	async #stored(): Promise<KeyringRecord | undefined> {
		const { runner, kernel } = this.#options;
		const { records } = await runner.ask((store, partition) => store.read(partition, [KEYRING_KEY]));
		const [stored] = records;
		if (!stored || stored.version === 0) return undefined;
		try {
			return kernel.decode(KEYRING_KEY, stored.doc) as KeyringRecord;
		} catch {
			return undefined;
		}
	}

	async #install(): Promise<void> {
		const { runner, secretHex, onFault } = this.#options;
		const isGiven = secretHex !== undefined;
		const outcome = await runner.run({
			op: "installKeyring",
			secretHex: isGiven ? secretHex.toLowerCase() : this.#draw(),
			isGiven,
		});
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.did === "repaired") onFault("the keyring was incomplete and has been repaired", undefined, outcome.kid);
		if (outcome.isOther)
			onFault("the given waitpoint secret differs from the stored one; the stored one is used", undefined, outcome.kid);
	}

	#usable({ current, keys }: KeyringRecord): Ring {
		const { runner } = this.#options;
		const byKid = new Map<string, TokenKey>();
		for (const { kid, secretHex, expiresAt } of keys) {
			const isExpired = () => expiresAt !== undefined && runner.time.now() >= expiresAt;
			byKid.set(kid, { kid, secret: createSecretKey(secretHex, "hex"), isExpired });
		}
		return { current: byKid.get(current) as TokenKey, byKid };
	}

	#draw(): string {
		return this.#options.randomHex?.(SECRET_BYTES) ?? randomBytes(SECRET_BYTES).toString("hex");
	}
}
