"""A person on Matrix, by matrix-nio: orders come as lines of JSON, and what the
person sees goes out as lines of JSON."""

import asyncio
import json
import sys
import urllib.parse
import urllib.request

from nio import AsyncClient, JoinError, RoomCreateError, RoomSendError, UploadError


def show(**seen):
    print(json.dumps(seen), flush=True)


class Person:
    def __init__(self, homeserver, user, password):
        self.homeserver, self.password = homeserver, password
        self.client = AsyncClient(homeserver, user)

    async def login(self):
        answer = await self.client.login(self.password)
        show(kind="login", user=self.client.user_id, error="" if self.client.access_token else str(answer))

    async def listen(self):
        since = None
        while True:
            try:
                answer = await self.client.sync(timeout=10000, since=since)
                since = answer.next_batch
            except Exception:  # the homeserver is away
                await asyncio.sleep(0.2)
                continue
            for room in answer.rooms.invite:
                await self.client.join(room)
            for room, info in answer.rooms.join.items():
                for event in info.timeline.events:
                    show(kind="event", room=room, event=event.source)

    async def create(self, invite, direct=False):
        answer = await self.client.room_create(is_direct=direct, invite=invite)
        return {"error": str(answer)} if isinstance(answer, RoomCreateError) else {"room": answer.room_id}

    async def send(self, room, content):
        answer = await self.client.room_send(room, "m.room.message", content)
        return {"error": str(answer)} if isinstance(answer, RoomSendError) else {"event": answer.event_id}

    async def upload(self, path, mime, name):
        size = len(open(path, "rb").read())
        answer, _ = await self.client.upload(lambda *_: path, content_type=mime, filename=name, filesize=size)
        return {"error": str(answer)} if isinstance(answer, UploadError) else {"url": answer.content_uri}

    async def download(self, url, path):
        place = "/".join(urllib.parse.quote(part) for part in url.removeprefix("mxc://").split("/"))
        request = urllib.request.Request(f"{self.homeserver}/_matrix/client/v1/media/download/{place}")
        request.add_header("Authorization", "Bearer " + self.client.access_token)
        with urllib.request.urlopen(request) as answer, open(path, "wb") as out:
            out.write(answer.read())
        return {}


async def main():
    person = Person(*sys.argv[1:4])
    await person.login()
    listening = asyncio.create_task(person.listen())
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        number = order.pop("n")
        try:
            done = await getattr(person, order.pop("do"))(**order)
        except Exception as e:
            done = {"error": repr(e)}
        show(kind="done", n=number, **done)
    listening.cancel()
    await person.client.close()


asyncio.run(main())
