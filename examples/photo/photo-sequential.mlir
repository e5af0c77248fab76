// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// photo.mlir without a token, op after op as one would write it first:
// gpu-async-infer-dependencies finds the same order from what the kernels read and
// write, and the same schedule comes out (test/Pipelines/photo-sequential.test).
//
//   gpu-runner photo-sequential.mlir -e photo --input=@photo.npy --input=600x902x3xi8 --output=arg1=@out.npy

// %photo: rows x columns x (red, green, blue). %picture: twice the rows and columns.
func.func @photo(%photo: memref<?x?x3xi8>, %picture: memref<?x?x3xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %h = memref.dim %photo, %c0 : memref<?x?x3xi8>
  %w = memref.dim %photo, %c1 : memref<?x?x3xi8>
  %h2 = arith.muli %h, %c2 : index
  %w2 = arith.muli %w, %c2 : index

  // Blocks of 32 x 8 pixels, and blocks of 32 x 4 pixels of three colours each.
  %gx = arith.ceildivui %w, %c32 : index
  %gy = arith.ceildivui %h, %c8 : index
  %gy4 = arith.ceildivui %h, %c4 : index

  %source = gpu.alloc (%h, %w) : memref<?x?x3xi8>
  %rows = gpu.alloc (%h, %w) : memref<?x?x3xi8>
  %soft = gpu.alloc (%h, %w) : memref<?x?x3xi8>
  %light = gpu.alloc (%h, %w) : memref<?x?xi8>
  %lines = gpu.alloc (%h, %w) : memref<?x?xi8>
  %counts = gpu.alloc () : memref<256xi32>
  %table = gpu.alloc () : memref<256xi32>
  %vivid = gpu.alloc (%h, %w) : memref<?x?x3xi8>
  %result = gpu.alloc (%h2, %w2) : memref<?x?x3xi8>

  gpu.memcpy %source, %photo : memref<?x?x3xi8>, memref<?x?x3xi8>

  // Branch 1: the blur. Nine taps with the binomials 1 8 28 56 70 56 28 8 1 as
  // weights, whose sum is 256: first along rows, then along columns.
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy4, %nbz = %c1)
      threads(%tx, %ty, %channel) in (%ntx = %c32, %nty = %c4, %ntz = %c3)
      module(@kernels) function(@blur_rows) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %last = arith.subi %w, %c1 : index
      %one = arith.constant 1 : i32
      %half = arith.constant 128 : i32
      %shift = arith.constant 8 : i32
      %sum, %unused = scf.for %tap = %c0 to %c9 step %c1
          iter_args(%total = %half, %weight = %one) -> (i32, i32) {
        %ahead = arith.addi %x, %tap : index
        %beyond = arith.subi %ahead, %c4 : index
        %near0 = arith.maxsi %beyond, %c0 : index
        %near = arith.minsi %near0, %last : index
        %byte = memref.load %source[%y, %near, %channel] : memref<?x?x3xi8>
        %value = arith.extui %byte : i8 to i32
        %part = arith.muli %value, %weight : i32
        %next = arith.addi %total, %part : i32
        // The next binomial of 8: w * (8 - tap) / (tap + 1), without remainder.
        %tap32 = arith.index_cast %tap : index to i32
        %factor = arith.subi %shift, %tap32 : i32
        %divisor = arith.addi %tap32, %one : i32
        %product = arith.muli %weight, %factor : i32
        %next_weight = arith.divui %product, %divisor : i32
        scf.yield %next, %next_weight : i32, i32
      }
      %mean = arith.shrui %sum, %shift : i32
      %result_byte = arith.trunci %mean : i32 to i8
      memref.store %result_byte, %rows[%y, %x, %channel] : memref<?x?x3xi8>
    }
    gpu.terminator
  }
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy4, %nbz = %c1)
      threads(%tx, %ty, %channel) in (%ntx = %c32, %nty = %c4, %ntz = %c3)
      module(@kernels) function(@blur_columns) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %last = arith.subi %h, %c1 : index
      %one = arith.constant 1 : i32
      %half = arith.constant 128 : i32
      %shift = arith.constant 8 : i32
      %sum, %unused = scf.for %tap = %c0 to %c9 step %c1
          iter_args(%total = %half, %weight = %one) -> (i32, i32) {
        %ahead = arith.addi %y, %tap : index
        %beyond = arith.subi %ahead, %c4 : index
        %near0 = arith.maxsi %beyond, %c0 : index
        %near = arith.minsi %near0, %last : index
        %byte = memref.load %rows[%near, %x, %channel] : memref<?x?x3xi8>
        %value = arith.extui %byte : i8 to i32
        %part = arith.muli %value, %weight : i32
        %next = arith.addi %total, %part : i32
        %tap32 = arith.index_cast %tap : index to i32
        %factor = arith.subi %shift, %tap32 : i32
        %divisor = arith.addi %tap32, %one : i32
        %product = arith.muli %weight, %factor : i32
        %next_weight = arith.divui %product, %divisor : i32
        scf.yield %next, %next_weight : i32, i32
      }
      %mean = arith.shrui %sum, %shift : i32
      %result_byte = arith.trunci %mean : i32 to i8
      memref.store %result_byte, %soft[%y, %x, %channel] : memref<?x?x3xi8>
    }
    gpu.terminator
  }

  // The lightness (77 red + 150 green + 29 blue) / 256, for branches 2 and 3.
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c32, %nty = %c8, %ntz = %c1)
      module(@kernels) function(@lightness) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %of_red = arith.constant 77 : i32
      %of_green = arith.constant 150 : i32
      %of_blue = arith.constant 29 : i32
      %shift = arith.constant 8 : i32
      %r8 = memref.load %source[%y, %x, %c0] : memref<?x?x3xi8>
      %g8 = memref.load %source[%y, %x, %c1] : memref<?x?x3xi8>
      %b8 = memref.load %source[%y, %x, %c2] : memref<?x?x3xi8>
      %r = arith.extui %r8 : i8 to i32
      %g = arith.extui %g8 : i8 to i32
      %b = arith.extui %b8 : i8 to i32
      %rw = arith.muli %r, %of_red : i32
      %gw = arith.muli %g, %of_green : i32
      %bw = arith.muli %b, %of_blue : i32
      %rg = arith.addi %rw, %gw : i32
      %rgb = arith.addi %rg, %bw : i32
      %y32 = arith.shrui %rgb, %shift : i32
      %y8 = arith.trunci %y32 : i32 to i8
      memref.store %y8, %light[%y, %x] : memref<?x?xi8>
    }
    gpu.terminator
  }

  // Branch 2: Sobel's edges, |across| + |down|, at most 255.
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c32, %nty = %c8, %ntz = %c1)
      module(@kernels) function(@edges) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %last_x = arith.subi %w, %c1 : index
      %last_y = arith.subi %h, %c1 : index
      %left0 = arith.subi %x, %c1 : index
      %left = arith.maxsi %left0, %c0 : index
      %right0 = arith.addi %x, %c1 : index
      %right = arith.minsi %right0, %last_x : index
      %up0 = arith.subi %y, %c1 : index
      %up = arith.maxsi %up0, %c0 : index
      %below0 = arith.addi %y, %c1 : index
      %below = arith.minsi %below0, %last_y : index
      %ul8 = memref.load %light[%up, %left] : memref<?x?xi8>
      %u8 = memref.load %light[%up, %x] : memref<?x?xi8>
      %ur8 = memref.load %light[%up, %right] : memref<?x?xi8>
      %l8 = memref.load %light[%y, %left] : memref<?x?xi8>
      %r8 = memref.load %light[%y, %right] : memref<?x?xi8>
      %dl8 = memref.load %light[%below, %left] : memref<?x?xi8>
      %d8 = memref.load %light[%below, %x] : memref<?x?xi8>
      %dr8 = memref.load %light[%below, %right] : memref<?x?xi8>
      %ul = arith.extui %ul8 : i8 to i32
      %u = arith.extui %u8 : i8 to i32
      %ur = arith.extui %ur8 : i8 to i32
      %l = arith.extui %l8 : i8 to i32
      %r = arith.extui %r8 : i8 to i32
      %dl = arith.extui %dl8 : i8 to i32
      %d = arith.extui %d8 : i8 to i32
      %dr = arith.extui %dr8 : i8 to i32
      // Both sums of a direction share the difference of the far corners.
      %falling = arith.subi %dr, %ul : i32
      %rising = arith.subi %ur, %dl : i32
      %dx = arith.subi %r, %l : i32
      %dx2 = arith.addi %dx, %dx : i32
      %dy = arith.subi %d, %u : i32
      %dy2 = arith.addi %dy, %dy : i32
      %across0 = arith.addi %falling, %rising : i32
      %across = arith.addi %across0, %dx2 : i32
      %down0 = arith.subi %falling, %rising : i32
      %down = arith.addi %down0, %dy2 : i32
      %across_abs = math.absi %across : i32
      %down_abs = math.absi %down : i32
      %strength = arith.addi %across_abs, %down_abs : i32
      %most = arith.constant 255 : i32
      %capped = arith.minsi %strength, %most : i32
      %line = arith.trunci %capped : i32 to i8
      memref.store %line, %lines[%y, %x] : memref<?x?xi8>
    }
    gpu.terminator
  }

  // Branch 3: the histogram of the lightness, the equalising table from it, and
  // the photograph with each pixel moved to the lightness that the table says.
  gpu.memset %counts, %zero : memref<256xi32>, i32
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c32, %nty = %c8, %ntz = %c1)
      module(@kernels) function(@histogram) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %one = arith.constant 1 : i32
      %y8 = memref.load %light[%y, %x] : memref<?x?xi8>
      %bin = arith.index_castui %y8 : i8 to index
      %before = memref.atomic_rmw addi %one, %counts[%bin] : (i32, memref<256xi32>) -> i32
    }
    gpu.terminator
  }
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1)
      module(@kernels) function(@equalising_table) {
    %none = arith.constant 0 : i32
    %most = arith.constant 255 : i32
    %end = arith.addi %tx, %c1 : index
    %darker = scf.for %bin = %c0 to %end step %c1 iter_args(%sum = %none) -> (i32) {
      %count = memref.load %counts[%bin] : memref<256xi32>
      %next = arith.addi %sum, %count : i32
      scf.yield %next : i32
    }
    %pixels = arith.muli %h, %w : index
    %pixels32 = arith.index_cast %pixels : index to i32
    %scaled = arith.muli %darker, %most : i32
    %value = arith.divui %scaled, %pixels32 : i32
    memref.store %value, %table[%tx] : memref<256xi32>
    gpu.terminator
  }
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy4, %nbz = %c1)
      threads(%tx, %ty, %channel) in (%ntx = %c32, %nty = %c4, %ntz = %c3)
      module(@kernels) function(@equalise) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %none = arith.constant 0 : i32
      %most = arith.constant 255 : i32
      %y8 = memref.load %light[%y, %x] : memref<?x?xi8>
      %old = arith.extui %y8 : i8 to i32
      %bin = arith.index_castui %y8 : i8 to index
      %new = memref.load %table[%bin] : memref<256xi32>
      %change = arith.subi %new, %old : i32
      %c8bit = memref.load %source[%y, %x, %channel] : memref<?x?x3xi8>
      %color = arith.extui %c8bit : i8 to i32
      %moved = arith.addi %color, %change : i32
      %low = arith.maxsi %moved, %none : i32
      %kept = arith.minsi %low, %most : i32
      %byte = arith.trunci %kept : i32 to i8
      memref.store %byte, %vivid[%y, %x, %channel] : memref<?x?x3xi8>
    }
    gpu.terminator
  }

  // All branches meet in one picture. Its last tile is a drawing, the
  // soft picture in eight flat tones under the dark lines of the edges.
  gpu.launch
      blocks(%bx, %by, %bz) in (%nbx = %gx, %nby = %gy, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c32, %nty = %c8, %ntz = %c1)
      module(@kernels) function(@compose) {
    %x0 = arith.muli %bx, %ntx : index
    %x = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %y = arith.addi %y0, %ty : index
    %inx = arith.cmpi ult, %x, %w : index
    %iny = arith.cmpi ult, %y, %h : index
    %inside = arith.andi %inx, %iny : i1
    scf.if %inside {
      %none = arith.constant 0 : i32
      %most = arith.constant 255 : i32
      %of_red = arith.constant 77 : i32
      %of_green = arith.constant 150 : i32
      %of_blue = arith.constant 29 : i32
      %shift = arith.constant 8 : i32
      %tones = arith.constant 32 : i32
      %tone_step = arith.constant 36 : i32
      %threshold = arith.constant 128 : i32
      %x_right = arith.addi %x, %w : index
      %y_below = arith.addi %y, %h : index

      %r8 = memref.load %soft[%y, %x, %c0] : memref<?x?x3xi8>
      %g8 = memref.load %soft[%y, %x, %c1] : memref<?x?x3xi8>
      %b8 = memref.load %soft[%y, %x, %c2] : memref<?x?x3xi8>
      %r = arith.extui %r8 : i8 to i32
      %g = arith.extui %g8 : i8 to i32
      %b = arith.extui %b8 : i8 to i32
      %rw = arith.muli %r, %of_red : i32
      %gw = arith.muli %g, %of_green : i32
      %bw = arith.muli %b, %of_blue : i32
      %rg = arith.addi %rw, %gw : i32
      %rgb = arith.addi %rg, %bw : i32
      %old = arith.shrui %rgb, %shift : i32
      %bin = arith.index_cast %old : i32 to index
      %new = memref.load %table[%bin] : memref<256xi32>
      %level = arith.divui %new, %tones : i32
      %tone = arith.muli %level, %tone_step : i32
      %change = arith.subi %tone, %old : i32

      %line8 = memref.load %lines[%y, %x] : memref<?x?xi8>
      %line = arith.extui %line8 : i8 to i32
      %paper = arith.subi %most, %line : i32
      %paper8 = arith.trunci %paper : i32 to i8
      %line2 = arith.addi %line, %line : i32
      %ink0 = arith.subi %line2, %threshold : i32
      %ink1 = arith.maxsi %ink0, %none : i32
      %ink = arith.minsi %ink1, %most : i32
      %left_over = arith.subi %most, %ink : i32

      scf.for %c = %c0 to %c3 step %c1 {
        %photo8 = memref.load %source[%y, %x, %c] : memref<?x?x3xi8>
        memref.store %photo8, %result[%y, %x, %c] : memref<?x?x3xi8>
        %vivid8 = memref.load %vivid[%y, %x, %c] : memref<?x?x3xi8>
        memref.store %vivid8, %result[%y, %x_right, %c] : memref<?x?x3xi8>
        memref.store %paper8, %result[%y_below, %x, %c] : memref<?x?x3xi8>
        %soft8 = memref.load %soft[%y, %x, %c] : memref<?x?x3xi8>
        %color = arith.extui %soft8 : i8 to i32
        %moved = arith.addi %color, %change : i32
        %low = arith.maxsi %moved, %none : i32
        %flat = arith.minsi %low, %most : i32
        %inked = arith.muli %flat, %left_over : i32
        %drawn = arith.divui %inked, %most : i32
        %drawn8 = arith.trunci %drawn : i32 to i8
        memref.store %drawn8, %result[%y_below, %x_right, %c] : memref<?x?x3xi8>
      }
    }
    gpu.terminator
  }

  gpu.memcpy %picture, %result : memref<?x?x3xi8>, memref<?x?x3xi8>
  gpu.dealloc %source : memref<?x?x3xi8>
  gpu.dealloc %rows : memref<?x?x3xi8>
  gpu.dealloc %soft : memref<?x?x3xi8>
  gpu.dealloc %light : memref<?x?xi8>
  gpu.dealloc %lines : memref<?x?xi8>
  gpu.dealloc %counts : memref<256xi32>
  gpu.dealloc %table : memref<256xi32>
  gpu.dealloc %vivid : memref<?x?x3xi8>
  gpu.dealloc %result : memref<?x?x3xi8>
  return
}
