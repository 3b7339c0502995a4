import { Redis } from "iovalkey";
import { expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { partitionKeys } from "../../src/store/valkey/partition-keys.ts";
import { partitionTags } from "../../src/store/valkey/slots.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { runHere } from "../cli/stage.ts";
import { hasValkey, ownStore, sharedValkey } from "../servers/valkey-server.ts";

test.runIf(hasValkey())("keys that somebody put something else into are named, and are no outage", async () => {
	const { url, drop } = ownStore(await sharedValkey());
	const ff = await FlowFabric.open(url, { partitions: 1, onFault: () => {} });
	const { id } = await ff.submit("job");
	const { executions } = ff.backend;
	const parsed = parseValkeyUrl(url);
	const [tag = 0] = partitionTags(1);
	const keys = partitionKeys(parsed.prefix, tag);
	const { host, port } = parsed.hosts[0];
	const hand = new Redis({ host, port, db: parsed.database });

	await hand.set(keys.version(id), "zz");
	const unreadable = { code: "corrupt_record", details: { key: id, problem: expect.stringContaining("damaged") } };
	await expect(executions.get(id)).rejects.toMatchObject(unreadable);

	const queue = keys.queue("list,default,default,waiting");
	await hand.set(queue, "x");
	const refusal = await executions.list().catch((error: unknown) => error);
	expect(refusal).toMatchObject({ code: "store_corrupt", retryable: false });
	expect(String(refusal)).toContain(queue);
	const { code, out } = await runHere(["doctor", "--store", url]);
	expect(out).toContain(queue);
	expect(out).toContain(`record ${id} in partition 0: cannot be read`);
	expect(code).toBe(1);
	await hand.quit();
	await ff.close();
	await drop();
});
