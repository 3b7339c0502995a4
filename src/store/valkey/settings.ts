import { StoreOpenError, type StoreOptions } from "../port.ts";
import type { Servers } from "./servers.ts";
import { slotOf } from "./slots.ts";

const DEFAULT_PARTITIONS = 8;

/** Writes the settings of a new store in one step, or compares with those it was made with; gives its partitions. */
export async function settle(servers: Servers, key: string, options: StoreOptions): Promise<number> {
	const { partitions, format, testClock } = options;
	const own = JSON.stringify({
		partitions: partitions ?? DEFAULT_PARTITIONS,
		format: format.format,
		testClock: testClock !== undefined,
	});
	const stored = ((await servers.call(slotOf(key), ["SET", key, own, "NX", "GET"])) as string | null) ?? own;
	const settings = JSON.parse(stored) as { partitions: number; format: number; testClock: boolean };
	if (partitions !== undefined && settings.partitions !== partitions) {
		throw new StoreOpenError(
			"partition_mismatch",
			`the store has ${settings.partitions} partitions, not ${partitions}: open it with that number`,
			{ field: "partitions", stored: settings.partitions, configured: partitions },
		);
	}
	if (settings.testClock !== (testClock !== undefined)) {
		throw new StoreOpenError("store_invalid", "a store made with a test clock, or without, must be opened so");
	}
	if (settings.format > format.format) {
		throw new StoreOpenError("store_too_new", `the store has format ${settings.format}`, { stored: settings.format });
	}
	return settings.partitions;
}
