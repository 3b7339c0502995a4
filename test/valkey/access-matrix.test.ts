import { afterAll, describe } from "vitest";
import { accessSuite } from "../server/access/suite.ts";
import { hasValkey, ownStore, sharedValkey } from "../servers/valkey-server.ts";

describe.runIf(hasValkey())("on Valkey", () => {
	let drop = async (): Promise<void> => {};
	afterAll(() => drop());
	accessSuite(async () => {
		const store = ownStore(await sharedValkey());
		drop = () => store.drop();
		return store.url;
	});
});
