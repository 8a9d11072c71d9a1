// SPDX-License-Identifier: Apache-2.0
// Tensors with a few floats for each row of logits (state, stats, coefficients), in the order of
// the rows.
//
// In UB a record takes whole blocks of 8 lanes, since a tile's rows lie apart in GM; a Gather or a
// Brcb with one lane masked moves a column between records and a vector.
#ifndef MINDSPORE_RNNT_RNNT_RECORDS_H_
#define MINDSPORE_RNNT_RNNT_RECORDS_H_

#include "rnnt_tiles.h"

namespace rnnt {

class Records {
 public:
  RNNT_FN void Bind(int64_t rows, int32_t width, GM_ADDR records) {
    width_ = width;
    records_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(records),
                             static_cast<uint64_t>(rows * width));
  }

  RNNT_FN GlobalTensor<float> At(int64_t row) {
    return records_[static_cast<uint64_t>(row * width_)];
  }
  RNNT_FN void Load(const LocalTensor<float>& dst, const Tile& tile) {
    DataCopyPad(dst, At(tile.row),
                DataCopyExtParams(static_cast<uint16_t>(tile.count), Bytes(), Gap(tile), 0, 0),
                Padding());
  }
  RNNT_FN uint32_t Bytes() const { return static_cast<uint32_t>(width_ * sizeof(float)); }
  RNNT_FN uint32_t Gap(const Tile& tile) const {
    return tile.count > 1 ? static_cast<uint32_t>((tile.row_step - 1) * Bytes()) : 0;
  }
  RNNT_FN int32_t width() const { return width_; }
  // In UB.
  RNNT_FN int32_t blocks() const { return (width_ + kBlockLanes - 1) / kBlockLanes; }
  // Fills a record's last block up.
  RNNT_FN DataCopyPadExtParams<float> Padding() const {
    return DataCopyPadExtParams<float>(true, 0,
                                       static_cast<uint8_t>(blocks() * kBlockLanes - width_), 0.0f);
  }

 private:
  int32_t width_;
  GlobalTensor<float> records_;
};

// Single numbers, for what is decided once a sample.
class ScalarReader {
 public:
  RNNT_FN void Init(TPipe* pipe, int64_t rows, int32_t width, GM_ADDR records) {
    records_.Bind(rows, width, records);
    pipe->InitBuffer(buffer_, kBlockBytes);
  }

  RNNT_FN float At(int64_t row, int32_t column) {
    const LocalTensor<float> record = buffer_.Get<float>();
    Order<HardEvent::S_MTE2>();
    DataCopyPad(record, records_.At(row), DataCopyExtParams(1, records_.Bytes(), 0, 0, 0),
                records_.Padding());
    Order<HardEvent::MTE2_S>();
    return record.GetValue(static_cast<uint32_t>(column));
  }

 private:
  Records records_;
  TBuf<TPosition::VECIN> buffer_;
};

// Vectors of records in UB, of as many blocks each.
class RecordColumns {
 public:
  RNNT_FN void Init(TPipe* pipe, int32_t blocks = 1) {
    pipe->InitBuffer(buffer_, kMaxRows * sizeof(int32_t));
    const LocalTensor<int32_t> offsets = buffer_.Get<int32_t>();
    CreateVecIndex(offsets, int32_t{0}, static_cast<uint32_t>(kMaxRows));
    Fence();
    Muls(offsets, offsets, blocks * kBlockBytes, kMaxRows);
    Fence();
  }

  RNNT_FN void Get(const LocalTensor<float>& dst, const LocalTensor<float>& records, int32_t column,
                   int32_t n) {
    Gather(dst, records, buffer_.Get<uint32_t>(), static_cast<uint32_t>(column * sizeof(float)),
           static_cast<uint32_t>(n));
  }

 private:
  TBuf<TPosition::VECCALC> buffer_;
};

class RecordReader {
 public:
  RNNT_FN void Init(TPipe* pipe, int64_t rows, int32_t width, GM_ADDR records) {
    records_.Bind(rows, width, records);
    pipe->InitBuffer(queue_, 2, kMaxRows * records_.blocks() * kBlockBytes);
    columns_.Init(pipe, records_.blocks());
  }

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<float> tensor = queue_.AllocTensor<float>();
    records_.Load(tensor, tile);
    queue_.EnQue(tensor);
  }
  RNNT_FN void Receive() { received_ = queue_.DeQue<float>(); }
  RNNT_FN void Column(const LocalTensor<float>& dst, int32_t column, int32_t n) {
    columns_.Get(dst, received_, column, n);
  }
  RNNT_FN void Release() { queue_.FreeTensor(received_); }

 private:
  Records records_;
  RecordColumns columns_;
  TQue<TPosition::VECIN, 1> queue_;
  LocalTensor<float> received_;
};

// work->Store(tile) for each tile of a core's share, with the tile's records received; those of the next
// tile are on their way meanwhile.
template <class Work>
RNNT_FN void StoreTiles(Tiles* tiles, RecordReader* reader, Work* work) {
  Tile next;
  bool more = tiles->Next(&next);
  if (more) reader->Load(next);
  while (more) {
    const Tile tile = next;
    reader->Receive();
    more = tiles->Next(&next);
    if (more) reader->Load(next);
    work->Store(tile);
  }
}

constexpr int32_t kMaxColumns = 5;

struct RecordColumnList {
  LocalTensor<float> column[kMaxColumns];
};

class RecordWriter {
 public:
  RNNT_FN void Init(TPipe* pipe, int64_t rows, int32_t width, GM_ADDR records) {
    records_.Bind(rows, width, records);
    pipe->InitBuffer(queue_, 2, kMaxRows * records_.blocks() * kBlockBytes);
    pipe->InitBuffer(block_buffer_, 2 * kMaxRows * kBlockBytes);
  }

  // One vector for each column; lanes up to the next multiple of 8 are read.
  RNNT_FN void Store(const Tile& tile, const RecordColumnList& columns) {
    const LocalTensor<float> records = queue_.AllocTensor<float>();
    for (int32_t c = 0; c < records_.width(); ++c) Put(records, c, columns.column[c], tile.count);
    Send(tile, records);
  }

  // The same of columns that are `pitch` lanes apart.
  RNNT_FN void Store(const Tile& tile, const LocalTensor<float>& columns, int32_t pitch) {
    const LocalTensor<float> records = queue_.AllocTensor<float>();
    for (int32_t c = 0; c < records_.width(); ++c) {
      Put(records, c, columns[c * pitch], tile.count);
    }
    Send(tile, records);
  }

 private:
  RNNT_FN void Put(const LocalTensor<float>& records, int32_t c, const LocalTensor<float>& column,
                   int32_t n) {
    const LocalTensor<float> blocks = block_buffer_.Get<float>()[c % 2 * kMaxRows * kBlockLanes];
    const int32_t of_record = records_.blocks(), repeats = (n + kBlockLanes - 1) / kBlockLanes;
    ToBlocks(blocks, column, n);
    Fence();
    LaneMask column_lane(c % kBlockLanes, 8);
    Adds(records[FloorToBlock(c)], blocks, 0.0f, column_lane.bits, static_cast<uint8_t>(repeats),
         UnaryRepeatParams(static_cast<uint16_t>(of_record), 1, static_cast<uint8_t>(8 * of_record),
                           8));
  }

  RNNT_FN void Send(const Tile& tile, const LocalTensor<float>& records) {
    Fence();
    queue_.EnQue(records);
    LocalTensor<float> out = queue_.DeQue<float>();
    DataCopyPad(records_.At(tile.row), out,
                DataCopyExtParams(static_cast<uint16_t>(tile.count), records_.Bytes(), 0,
                                  records_.Gap(tile), 0));
    queue_.FreeTensor(out);
  }

  Records records_;
  TQue<TPosition::VECOUT, 1> queue_;
  TBuf<TPosition::VECCALC> block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_RECORDS_H_
