import { type RecordFormat, StoreError, StoreOpenError, type StoreOptions } from "../port.ts";
import type { Servers } from "./servers.ts";
import { slotOf } from "./slots.ts";

const DEFAULT_PARTITIONS = 8;

/** What a store was made with; it changes only when its records are brought up to a later format. */
export interface StoreSettings {
	partitions: number;
	format: number;
	testClock: boolean;
}

/** The settings of one store, kept as one value: they are there whole or not at all. */
export class SettingsKey {
	readonly #servers: Servers;
	readonly #key: string;
	readonly #slot: number;

	constructor(servers: Servers) {
		this.#servers = servers;
		this.#key = `${servers.url.prefix}settings`;
		this.#slot = slotOf(this.#key);
	}

	/** Those of the store, or of a new one: of two that make it at the same time, one does. */
	async takeOrMake(options: StoreOptions): Promise<StoreSettings> {
		const { partitions = DEFAULT_PARTITIONS, format, testClock, mustExist } = options;
		const own: StoreSettings = { partitions, format: format.format, testClock: testClock !== undefined };
		const stored = mustExist ? await this.#call("GET") : await this.#call("SET", JSON.stringify(own), "NX", "GET");
		if (stored === null && mustExist) throw this.#refuse("store_unavailable", "there is no store here");
		const settings = stored === null ? own : this.#parse(stored);
		this.#check(settings, options);
		return settings;
	}

	async raiseFormat(settings: StoreSettings, { format }: Pick<RecordFormat, "format">): Promise<void> {
		await this.#call("SET", JSON.stringify({ ...settings, format }));
	}

	#check(stored: StoreSettings, { partitions, format, testClock }: StoreOptions): void {
		if (partitions !== undefined && partitions !== stored.partitions) {
			throw this.#refuse(
				"partition_mismatch",
				`partitions: the store has ${stored.partitions}, the configuration says ${partitions}; leave it out to take the store's, or export and import to change it`,
				{ field: "partitions", stored: stored.partitions, configured: partitions },
			);
		}
		if (stored.testClock !== (testClock !== undefined)) {
			const problem = stored.testClock
				? "was made by a test and keeps a test's time; it cannot be opened without testClock"
				: "keeps real time; it cannot be opened with testClock";
			throw this.#refuse("store_invalid", problem, { field: "testClock" });
		}
		if (stored.format > format.format) {
			throw this.#refuse(
				"store_too_new",
				`was written by a later version: its format is ${stored.format}, this version knows formats up to ${format.format}; upgrade`,
				{ field: "format", found: stored.format, supported: format.format },
			);
		}
	}

	#parse(text: string): StoreSettings {
		try {
			const { partitions, format, testClock } = JSON.parse(text) as StoreSettings;
			if (Number.isInteger(partitions) && Number.isInteger(format) && typeof testClock === "boolean") {
				return { partitions, format, testClock };
			}
		} catch {
			// Said below.
		}
		throw this.#refuse("store_invalid", `the key ${this.#key} is another program's; choose another prefix`);
	}

	async #call(name: string, ...args: string[]): Promise<string | null> {
		try {
			return (await this.#servers.call(this.#slot, [name, this.#key, ...args])) as string | null;
		} catch (error) {
			if (!(error instanceof StoreError) || error.code !== "store_corrupt") throw error;
			throw this.#refuse("store_invalid", `the key ${this.#key} is another program's; choose another prefix`);
		}
	}

	#refuse(
		code: "store_unavailable" | "partition_mismatch" | "store_invalid" | "store_too_new",
		problem: string,
		details: Record<string, unknown> = {},
	): StoreOpenError {
		return new StoreOpenError(code, `${this.#servers.url.shown}: ${problem}`, details);
	}
}
