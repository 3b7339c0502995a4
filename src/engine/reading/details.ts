import { detailBlobKey } from "../../kernel/payload.ts";
import type { Failure } from "../../kernel/records/execution.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** What handlers threw, in full, for readers of one execution. Whoever shows many reads a few at a time. */

/** What is shown of a failure once its detail was read. */
interface DetailedView {
	failure?: { reason: string; category: string; detail?: string } | undefined;
}

/** Adds to each view the detail of its failure. What was removed meanwhile is left out. */
export async function addDetails(
	runner: PartitionRunner,
	executionId: string,
	shown: readonly { view: DetailedView; failure: Failure | null | undefined }[],
): Promise<void> {
	const detailed = shown.filter(({ failure }) => failure?.detailEpoch !== undefined);
	if (detailed.length === 0) return;
	const keys = detailed.map(({ failure }) => detailBlobKey(executionId, failure?.detailEpoch ?? 0));
	const { blobs } = await runner.ask((store, partition) => store.readBlobs(partition, keys));
	for (const [n, { view }] of detailed.entries()) {
		const bytes = blobs[n];
		if (bytes && view.failure) view.failure.detail = Buffer.from(bytes).toString("utf8");
	}
}
