import { describe, it } from "vitest";
import { suiteTitle } from "./case-count.ts";
import { batchCases } from "./store-cases/batches.ts";
import { blobCases } from "./store-cases/blobs.ts";
import { durabilityCases } from "./store-cases/durability.ts";
import { eventLogCases } from "./store-cases/event-log.ts";
import { eventCases } from "./store-cases/events.ts";
import { historyCases } from "./store-cases/histories.ts";
import { indexRepairCases } from "./store-cases/index-repair.ts";
import { noticeCases } from "./store-cases/notices.ts";
import { partitionCases } from "./store-cases/partitions.ts";
import { queueNameCases } from "./store-cases/queue-names.ts";
import { queueSizeCases } from "./store-cases/queue-sizes.ts";
import { queueCases } from "./store-cases/queues.ts";
import { recordCases } from "./store-cases/records.ts";
import { scanCases } from "./store-cases/scans.ts";
import { textCases } from "./store-cases/texts.ts";
import { timeCases } from "./store-cases/time.ts";
import { turnCases } from "./store-cases/turns.ts";
import type { StoreRow } from "./stores.ts";
import { type Case, Trial } from "./trial.ts";

const subjects: Record<string, (test: Case) => void> = {
	records: recordCases,
	batches: batchCases,
	time: timeCases,
	queues: queueCases,
	"queue names": queueNameCases,
	"queue sizes": queueSizeCases,
	texts: textCases,
	blobs: blobCases,
	events: eventCases,
	"event log": eventLogCases,
	scans: scanCases,
	"index repair": indexRepairCases,
	notices: noticeCases,
	turns: turnCases,
	partitions: partitionCases,
	durability: durabilityCases,
	histories: historyCases,
};

/** Everything the port promises, as cases against one store. No case may ask which store it runs on. */
export function storeSuite(row: StoreRow): void {
	describe(suiteTitle("store", row.name), () => {
		for (const [subject, register] of Object.entries(subjects)) {
			describe(subject, () => {
				register((name, run) => {
					it(name, async () => {
						const trial = await Trial.open(row);
						try {
							await run(trial);
						} finally {
							await trial.discard();
						}
					});
				});
			});
		}
	});
}
