#!/usr/bin/env python3
"""The boxes of tests/metric/detection_test.c through pycocotools: the numbers that it expects."""
import contextlib
import io

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

state = 12345


def draw(n):
    global state
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    return (state >> 8) % n


def main():
    truth, found = [], []
    for picture in range(12):
        for _ in range(3 + draw(6)):
            x, y, w, h = draw(200), draw(150), 10 + draw(60), 10 + draw(60)
            label = draw(3)
            crowd = draw(12) == 0
            truth.append(dict(id=len(truth) + 1, image_id=picture, category_id=label, bbox=[x, y, w, h],
                              area=w * h, iscrowd=int(crowd)))
            for _ in range(draw(4)):
                box = [x + draw(9) - 4, y + draw(9) - 4, max(1, w + draw(9) - 4), max(1, h + draw(9) - 4)]
                found.append(dict(image_id=picture, category_id=label if draw(8) else draw(3), bbox=box,
                                  score=draw(20) / 20))
        for _ in range(draw(4)):
            found.append(dict(image_id=picture, category_id=draw(3), bbox=[draw(200), draw(150), 20, 20],
                              score=draw(20) / 20))
    for _ in range(130):  # more than count
        found.append(dict(image_id=3, category_id=1, bbox=[draw(200), draw(150), 30, 30], score=draw(20) / 40))
    coco = COCO()
    with contextlib.redirect_stdout(io.StringIO()):
        coco.dataset = dict(images=[dict(id=i) for i in range(12)], annotations=truth,
                            categories=[dict(id=i) for i in range(4)])
        coco.createIndex()
        e = COCOeval(coco, coco.loadRes(found), "bbox")
        e.evaluate()
        e.accumulate()
        e.summarize()
    print("all", *(f"{x:.15g}" for x in e.stats[:3]))
    p = e.eval["precision"][:, :, :, 0, 2]
    for k in range(4):
        if (p[:, :, k] < 0).all():
            continue
        print(k, *(f"{x:.15g}" for x in (p[:, :, k].mean(), p[0, :, k].mean(), p[5, :, k].mean())))


main()
